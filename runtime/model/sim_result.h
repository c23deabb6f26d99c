// SPDX-License-Identifier: Apache-2.0
// What one virtual-time run gives. Plain data, for tables, JSON, CSV and pictures.
//
// Counted are the jobs whose release lies in [warmup, warmup + horizon). A job still unfinished at
// the end of the run counts as released and not as completed.
#ifndef SGPRS_RUNTIME_MODEL_SIM_RESULT_H_
#define SGPRS_RUNTIME_MODEL_SIM_RESULT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sgprs/abi/abi.h"

namespace sgprs::model {

struct ResponseTimes {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t max_ns = 0;
};

struct TaskResult {
  std::string name;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;
  uint64_t deadline_ns = 0;
  bool admitted = true;
  // Part of the resource that bounds the mix (LossTable::bound_by) which its frames need at least:
  // what a frame needs / period / what the device has. 1 = the bound; 0 of recorded jobs.
  double utilisation = 0;
  uint64_t expected = 0;  // releases by the period alone
  uint64_t released = 0;  // jobs that began
  uint64_t completed = 0;
  uint64_t on_time = 0;
  // Completed jobs that ran for a later release than the one their program began them for. Under
  // lasting overload nearly all: a program held once is a release behind. Not frames lost:
  // `skipped`.
  uint64_t held = 0;
  uint64_t skipped = 0;  // periods without a job, because the one before overran
  // (m,k): the fewest on-time frames in any k consecutive expected ones.
  uint32_t mk_k = 10;
  uint32_t mk_worst = 10;
  uint64_t longest_gap_ns = 0;  // between two on-time completions
  ResponseTimes response;       // release to completion, of the completed
  uint64_t switches = 0;
  uint64_t stages_late = 0;
};

struct PartitionResult {
  uint32_t sm_count = 0;
  uint32_t capacity = 0;
  double busy = 0;  // part of the time with a stage granted
  uint64_t stages = 0;
  uint64_t switches_in = 0;
};

struct JobRow {
  uint32_t task = 0;
  uint64_t job = 0;
  uint64_t release_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t first_launch_ns = 0;
  uint64_t first_grant_ns = 0;
  uint64_t complete_ns = 0;  // 0 = not complete at the end of the run
  bool held = false;
  bool on_time = false;
};

struct StageRow {
  uint32_t task = 0;
  uint64_t job = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 0;
  uint32_t partition = 0;
  SgprsLevel level = SGPRS_LEVEL_LOW;
  bool switched = false;
  uint64_t ready_ns = 0;  // may run: the predecessor is complete
  uint64_t granted_ns = 0;
  uint64_t start_ns = 0;  // the first kernel is at the head of its stream
  uint64_t end_ns = 0;
  uint64_t virtual_deadline_ns = 0;  // UINT64_MAX = none
  uint64_t from_launch = 0;          // launches of the job that were granted: [from, upto)
  uint64_t upto_launch = 0;          // UINT64_MAX = open
};

// Where the difference to the fluid bound went, in frames per second (README.md, "The bound"). They
// add up: bound = completed + the losses.
struct LossTable {
  double fluid_bound_fps = 0;  // no schedule completes more of these tasks' mix on this model
  std::string bound_by;        // the resource: "dispatch", "SMs" or "DRAM"
  double offered_fps = 0;      // what the admitted tasks release
  double completed_fps = 0;
  double not_offered_fps = 0;  // whole tasks do not add up to the bound (quantisation of N)
  double contention_fps = 0;   // the resource was busy with less than frames: waiting launches
                               // slow dispatch, SMs slow each other and have tails
  double switch_fps = 0;       // what the run completes more if grants and switches cost nothing
  double idle_fps = 0;         // the resource idle although frames were due (blocking)
};

struct SimResult {
  std::string scenario;
  std::string device;
  uint32_t device_sm_count = 0;
  std::string policy;
  std::vector<std::pair<std::string, std::string>> policy_options;
  std::string overload;
  std::string admission;
  double oversubscription = 0;
  uint64_t standstill_ns = 0;
  uint64_t seed = 0;
  uint32_t n = 0;  // tasks asked for
  uint64_t warmup_ns = 0;
  uint64_t horizon_ns = 0;

  uint64_t expected = 0;
  uint64_t released = 0;
  uint64_t completed = 0;
  uint64_t on_time = 0;
  uint64_t held = 0;
  double completed_fps = 0;  // late frames included
  double on_time_fps = 0;
  double miss_percent = 0;  // (expected - on time) / expected, as published
  uint64_t switches = 0;
  double utilisation = 0;       // sum over the admitted tasks
  double high_utilisation = 0;  // of them, class high
  uint64_t high_misses = 0;     // expected - on time, class high

  std::vector<TaskResult> tasks;
  std::vector<PartitionResult> partitions;
  LossTable loss;
  std::vector<std::string> warnings;  // of admission

  // Only if asked for (RunOptions).
  std::vector<JobRow> jobs;
  std::vector<StageRow> stages;

  uint64_t events = 0;  // of the engine, for its own measurements
  uint64_t grants = 0;
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SIM_RESULT_H_
