# SPDX-License-Identifier: Apache-2.0
"""Whether a trace is what Perfetto and chrome://tracing can show: problems(path) lists what is not.

Rules of the "Trace Event Format" document, and of Perfetto's importer where that is stricter: times
are doubles in us that it multiplies by 1000 and cuts off; slices of a track must nest, and of those
that begin together the first in the file is the outer one; threads are named by their id, whatever
the process; ids have 32 bits.
"""
import collections
import json

PHASES = {"X": {"name", "pid", "tid", "ts", "dur"}, "i": {"name", "pid", "tid", "ts", "s"}, "M": {"name", "pid", "args"},
          "s": {"name", "pid", "tid", "ts", "id"}, "t": {"name", "pid", "tid", "ts", "id"},
          "f": {"name", "pid", "tid", "ts", "id"}}
OPTIONAL = {"ph", "args", "cat", "tid", "bp"}
KINDS = {"name": str, "cat": str, "args": dict, "ts": (int, float), "dur": (int, float), "pid": int, "tid": int, "s": str}


def cut_ns(us):
    """As the importer does."""
    return int(us * 1000)


def field_problems(event):
    """Unknown phase, missing or unknown or wrong fields."""
    wanted = PHASES.get(event.get("ph"))
    if wanted is None:
        return [f"unknown phase {event.get('ph')!r}"]
    found = [f"{name} is missing" for name in wanted - set(event)]
    found += [f"{name} is unknown" for name in set(event) - wanted - OPTIONAL]
    found += [f"{name} is {event[name]!r}" for name, kind in KINDS.items()
              if name in event and (not isinstance(event[name], kind) or isinstance(event[name], bool))]
    found += [f"{name} is {event[name]}" for name in ("ts", "dur", "pid", "tid")
              if isinstance(event.get(name), (int, float)) and event[name] < 0]
    found += [f"{name} needs more than 32 bits" for name in ("pid", "tid")
              if isinstance(event.get(name), int) and event[name] >= 1 << 32]
    return found


def nesting_problems(track, slices):
    """Slices (begin, end, name) in the order of the file that overlap and do not nest."""
    found, open_ends = [], []
    for begin, end, name in sorted(slices, key=lambda one: one[0]):  # stable
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            found.append(f"track {track}: {name!r} at {begin} ends {end - open_ends[-1]} ns after the slice around it")
        open_ends.append(end)
    return found


def flow_problems(events):
    """Flows that do not begin and end once, in this order."""
    flows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            flows[event.get("cat"), event["name"], event["id"]].append((event["ts"], event["ph"]))
    return [f"flow {flow}: {steps}" for flow, steps in flows.items()
            for kinds in ["".join(kind for _, kind in sorted(steps, key=lambda step: step[0]))]
            if kinds != "s" + "t" * (len(steps) - 2) + "f"]


def name_problems(events):
    """Tracks and processes without a name, names given twice, ids shared by two processes."""
    named = collections.Counter((event["name"], event["pid"], event.get("tid")) for event in events
                                if event["ph"] == "M" and event["name"] in ("thread_name", "process_name"))
    found = [f"{name} given {times} times" for name, times in named.items() if times > 1]
    tracks = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    found += [f"track {track} has no name" for track in tracks if not named["thread_name", *track]]
    found += [f"process {pid} has no name" for pid in {pid for pid, _ in tracks} if not named["process_name", pid, None]]
    processes = collections.Counter(tid for _, tid in tracks)
    return found + [f"thread {tid} is in {times} processes" for tid, times in processes.items() if times > 1]


def problems(path):
    """Everything that is wrong, as lines of text; empty = nothing."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no traceEvents"]
    found = [] if trace.get("displayTimeUnit", "ms") in ("ms", "ns") else ["displayTimeUnit"]
    events = trace["traceEvents"]
    found += [f"event {i}: {text}" for i, event in enumerate(events) for text in field_problems(event)]
    if found:
        return found
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "Xi":
            begin = cut_ns(event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, begin + cut_ns(event.get("dur", 0)), event["name"]))
    for track, slices in tracks.items():
        found += nesting_problems(track, slices)
    return found + flow_problems(events) + name_problems(events)
