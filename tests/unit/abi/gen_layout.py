#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what include/sgprs/abi declares, as C macro calls for layout_rows.h.

gen_layout.py OUTPUT HEADER... -- PREPROCESSOR COMMAND...

Structures are read from the preprocessed text, so that fields that come from an .inc file count;
constants from the headers' own #define lines.
"""
import pathlib
import re
import subprocess
import sys

CONSTANT = re.compile(r"^#define (SGPRS_\w+)[ \t]+(?:[0-9]|\(?1u? <<|UINT)", re.M)
STRUCT = re.compile(r"typedef struct (Sgprs\w+) \{(.*?)\} \1;", re.S)
ENUM = re.compile(r"enum (Sgprs\w+) \{(.*?)\};", re.S)
FIELD = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*;")


def rows(headers, preprocessed):
    for header in headers:
        for name in CONSTANT.findall(header.read_text(encoding="utf-8")):
            yield f"CONSTANT({name})"
    for enum, body in ENUM.findall(preprocessed):
        for name in re.findall(r"(SGPRS_\w+)\s*=", body):
            yield f"ENUMERATOR({enum}, {name})"
    for struct, body in STRUCT.findall(preprocessed):
        yield f"STRUCT({struct})"
        for name in FIELD.findall(body):
            yield f"FIELD({struct}, {name})"


def main():
    cut = sys.argv.index("--")
    output, headers, command = sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1:]
    headers = [pathlib.Path(header) for header in headers]
    source = "".join(f'#include "{header}"\n' for header in headers)
    preprocessed = subprocess.run(
        command, input=source, capture_output=True, text=True, check=True).stdout
    text = "\n".join(rows(headers, preprocessed)) + "\n"
    pathlib.Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
