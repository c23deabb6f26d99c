// SPDX-License-Identifier: Apache-2.0
// Events of streams and of whole contexts.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_EVENT_OBJECT_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_EVENT_OBJECT_H_

#include "tools/simgpu/driver/objects.h"

namespace sgprs::simgpu::driver {

CUresult RecordEvent(Event* event, Stream* stream);
// RecordEvent, or a mark in the capture of the stream.
CUresult RecordOrCapture(Event* event, Stream* stream);
// The event ends when everything has ended that the context (a root: its green contexts too) was
// given so far. INVALID_HANDLE: of another primary context.
CUresult RecordContextEvent(Event* event, Context* view);
// Everything that the context is given from now on waits for the event.
CUresult WaitContextEvent(Context* view, Event* event);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_EVENT_OBJECT_H_
