# SPDX-License-Identifier: Apache-2.0
"""Reads a job log (include/sgprs/abi/job_log.h) by itself, so that tests need not trust the tools' reader."""
import pathlib
import struct

HEADER_BYTES = 4096
RECORD_BYTES = 640
TASK, JOB = 1, 2
MISSED, LEARNING = 1, 4


def text(raw):
    """Up to the first NUL."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def read(directory):
    """(jobs, names): a dict a job, in the order of writing; the name of each client."""
    jobs, names = [], {}
    for path in pathlib.Path(directory).glob("jobs.*"):
        data = path.read_bytes()
        for at in range(HEADER_BYTES, len(data) - RECORD_BYTES + 1, RECORD_BYTES):
            record = data[at:at + RECORD_BYTES]
            sequence, _, kind = struct.unpack_from("<QQH", record, 0)
            if sequence == 0:
                continue
            if kind == TASK:
                client, = struct.unpack_from("<Q", record, 24)
                names[client] = text(record[32:96])
            if kind == JOB:
                flags, = struct.unpack_from("<H", record, 24)
                client, number = struct.unpack_from("<QQ", record, 32)
                moments = struct.unpack_from("<11Q", record, 48)
                jobs.append({"sequence": sequence, "client": client, "job": number, "missed": bool(flags & MISSED),
                             "learning": bool(flags & LEARNING), "complete_ns": moments[8],
                             "release_ns": moments[9], "deadline_ns": moments[10]})
    return sorted(jobs, key=lambda job: job["sequence"]), names
