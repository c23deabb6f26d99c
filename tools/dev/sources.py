# SPDX-License-Identifier: Apache-2.0
"""Which files of the tree the checks look at: tracked ones, and new ones that git does not ignore."""
import pathlib
import subprocess


def list_sources(root, suffixes=None):
    """Sorted paths relative to `root`, as strings; all files if `suffixes` is None."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout.split("\0")
    found = (path for path in set(listed) if path and pathlib.Path(root, path).is_file())
    return sorted(path for path in found if suffixes is None or path.endswith(tuple(suffixes)))
