# SPDX-License-Identifier: Apache-2.0
"""Two streams, events between them, pinned copies both ways, elapsed time."""
import json

import torch


def main():
    side, main_stream = torch.cuda.Stream(), torch.cuda.current_stream()
    copied, done = torch.cuda.Event(), torch.cuda.Event()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
    back = torch.empty_like(host).pin_memory()
    weights = torch.eye(256, device="cuda")
    main_stream.synchronize()
    begin.record()
    for i in range(20):
        with torch.cuda.stream(side):
            side.wait_event(done) if i else None
            data = host.to("cuda", non_blocking=True)
            copied.record(side)
        main_stream.wait_event(copied)
        data.record_stream(main_stream)
        result = data.view(256, 256) @ weights
        back.copy_(data, non_blocking=True)
        done.record(main_stream)
    end.record()
    torch.cuda.synchronize()
    print(json.dumps({"shape": list(result.shape), "same": bool(torch.equal(host, back)),
                      "took_time": begin.elapsed_time(end) > 0, "ready": done.query()}))


if __name__ == "__main__":
    main()
