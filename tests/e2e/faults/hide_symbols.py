# SPDX-License-Identifier: Apache-2.0
"""An older driver: hide_symbols.py LIBRARY COPY SYMBOL... copies LIBRARY with the exports renamed.

A name is changed in place in the dynamic string table, in its last letter, so that nobody finds it under
the old one: neither dlsym's hash nor a comparison matches.
"""
import sys


def main():
    library, copy, *symbols = sys.argv[1:]
    with open(library, "rb") as file:
        data = file.read()
    for symbol in symbols:
        name = b"\0" + symbol.encode() + b"\0"
        if name not in data:
            sys.exit(f"hide_symbols.py: {library} has no {symbol}")
        data = data.replace(name, name[:-2] + b"?\0")
    with open(copy, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
