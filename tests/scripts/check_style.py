# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can see. Usage: check_style.py ROOT; exit 1 and one line per finding."""

import pathlib
import re
import sys

FOLDERS = ("util", "plugin", "include", "tools", "tests", "examples", "cmake", ".ci")
SOURCE_SUFFIXES = (".h", ".cc", ".py", ".sh", ".cmake", ".mk")
SPDX = "SPDX-License-Identifier: Apache-2.0"
MAX_LINES = {".cc": 600, ".h": 300}
MAX_TEST_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_TEST_FUNCTION_LINES = 90
# (what must not be in code, why)
FORBIDDEN = (
    (r"\busing\s+namespace\b", "no using namespace"),
    (r"\bthread_local\s+(?!const\b)", "no thread_local objects: they die before the static destruction in which tools unmount"),
    (r"\bnew\s+(?:\([^)]*\)\s*)?[A-Za-z_:]", "no naked new: std::make_unique"),
    (r"(?<!=)\s*\bdelete\s*(?:\[\s*\])?\s*[A-Za-z_(*]", "no naked delete"),
    (r"\b(?:std::)?(?:mutex|shared_mutex|condition_variable)\s+\w+_\s*;", "use util/mutex.h, which is annotated"),
)
FORBIDDEN_IN_TESTS = ((r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(", "tests do not sleep; inject a clock or wait"),)
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")  # no-unfinished-check
NOT_A_FUNCTION = re.compile(r"^(?:namespace|class|struct|union|enum|extern\s+\"C\"|template.*\b(?:class|struct)\s+\w+|#|//)")


def blank_literals(text):
    """Code with comments and literals blanked, line breaks kept."""
    pattern = re.compile(
        r'R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        re.DOTALL,
    )
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def long_functions(lines, limit):
    """(line number, length) of definitions at the left margin that are too long."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("}"):
            if start is not None and number - start + 1 > limit:
                yield start, number - start + 1
            start = None
        elif line and not line[0].isspace():
            start = None if NOT_A_FUNCTION.match(line) else number
            if line.rstrip().endswith(";"):
                start = None


def check_cpp(path, text, is_test):
    code = blank_literals(text)
    lines = code.split("\n")
    limit = MAX_TEST_LINES if is_test and path.suffix == ".cc" else MAX_LINES[path.suffix]
    count = text.count("\n")
    if count > limit:
        yield 1, f"{count} lines, at most {limit}: split it, one noun per file pair"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield 1, "a header needs #pragma once"
    # Where util/mutex.h ends: itself, and the scheduler that tests put under it.
    own_mutex = path.name == "mutex.h" or path.stem == "seeded_scheduler"
    for pattern, why in FORBIDDEN + (FORBIDDEN_IN_TESTS if is_test else ()):
        if own_mutex and ("util/mutex.h" in why or "thread_local" in why):
            continue
        for found in re.finditer(pattern, code):
            yield code.count("\n", 0, found.end()) + 1, why
    function_limit = MAX_TEST_FUNCTION_LINES if is_test else MAX_FUNCTION_LINES
    for start, length in long_functions(lines, function_limit):
        yield start, f"function of {length} lines, at most {function_limit}"


def check_file(root, path):
    text = path.read_text(encoding="utf-8")
    head = text.split("\n", 2)
    first = head[1] if head[0].startswith("#!") and len(head) > 1 else head[0]
    if SPDX not in first:
        yield 1, f"the first line must carry {SPDX}"
    for number, line in enumerate(text.split("\n"), 1):
        if UNFINISHED.search(line) and "no-unfinished-check" not in line:
            yield number, "nothing is left unfinished here: do it, or open an issue"
    if path.suffix in (".h", ".cc"):
        yield from check_cpp(path, text, path.relative_to(root).parts[0] == "tests")


def files(root):
    for name in ("CMakeLists.txt", "furrow.mk"):
        if (root / name).exists():
            yield root / name
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt"):
                yield path


def main():
    root = pathlib.Path(sys.argv[1])
    found = 0
    count = 0
    for path in files(root):
        count += 1
        for line, why in check_file(root, path):
            print(f"{path.relative_to(root)}:{line}: {why}", file=sys.stderr)
            found += 1
    print(f"check_style.py: {count} files, {found} findings")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
