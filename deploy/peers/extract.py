"""Reads the tests and options of another tool from the folder of its source: names alone, no texts.

An item is a kind (test, option, value, variable) and a name. Options are written as one types them: with their word
where they have one, else with their letter; those of a tool with several programs follow the program's name.
"""
import pathlib
import re


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def names_in(folder, pattern, suffix=""):
    return sorted(f"{path.stem}{suffix}" for path in folder.rglob(pattern))


def perftest(root):
    makefile = text_of(root / "Makefile.am")
    tests = {name for line in re.findall(r"^bin_PROGRAMS \+?=(.*)$", makefile, re.M) for name in line.split()}
    source = text_of(root / "src/perftest_parameters.c")
    options = re.findall(r'\{\s*\.name = "([^"]+)"', source)
    transports = re.search(r"connStr\[\] = \{([^}]*)\}", source).group(1)
    return ([("test", name) for name in sorted(tests)] + [("option", f"--{name}") for name in options] +
            [("value", f"--connection={name}") for name in re.findall(r'"(\w+)"', transports) if name != "RawEth"])


def nccl_tests(root):
    source = root / "src"
    shared = {"common", "util", "timer"}
    tests = [f"{path.stem}_perf" for path in sorted(source.glob("*.cu")) if path.stem not in shared]
    # Programs of the device's own calls: a file of the host's side each, and options of their own.
    mains = sorted(source.glob("device_api/**/*_main.cu"), key=lambda path: path.stem)
    tests += [f"{path.stem.removesuffix('_main')}_perf" for path in mains]
    own = source / "device_api/gin/utils/args.cc"
    device = re.search(r"option longOpts\[\] = \{(.*?)\n  \};", text_of(own), re.S).group(1) if own.exists() else ""
    options = re.search(r"option longopts\[\] = \{(.*?)\n  \};", text_of(source / "common.cu"), re.S).group(1)
    everything = "".join(text_of(path) for path in sorted(source.rglob("*")) if path.suffix in (".cu", ".cc", ".h"))
    return ([("test", name) for name in tests] +
            [("option", f"--{name}") for name in re.findall(r'\{"([a-z_]+)"', options)] +
            [("option", f"gin --{name}") for name in re.findall(r'\{"([a-z_]+)"', device)] +
            [("variable", name) for name in sorted(set(re.findall(r'getenv\("(NCCL_TESTS_\w+)"\)', everything)))])


# Names of tests as any of the tool's files quotes them; 0.8 gives them to Testcase, 0.10 has other classes.
NVBANDWIDTH_TEST = (r'"((?:host|device|all|one|multinode)_\w+_(?:ce|sm|tma)|device_local_copy)"|Testcase\("([a-z_]+)"')


def nvbandwidth(root):
    everything = "".join(text_of(path) for path in sorted(root.glob("*.h")) + sorted(root.glob("*.cpp")))
    tests = list(dict.fromkeys(name or other for name, other in re.findall(NVBANDWIDTH_TEST, everything)))
    source = text_of(root / "nvbandwidth.cpp")
    options = re.findall(r'^\s*\("(\w+)(?:,\w)?", ', source, re.M)  # boost's, to 0.9
    for call in re.findall(r'add_argument\(([^()]*)\)', source):  # argparse's
        options += re.findall(r'"--(\w+)"', call)
    return [("test", name) for name in tests] + [("option", f"--{name}") for name in options]


# Programs that a copy of OSU's source has and its own releases lack, and a file that is no program.
NOT_OSU = {"osu_get_mbw", "osu_get_multi_lat", "osu_bw_fan_util"}


def osu(root):
    tests = []
    for folder in ("mpi/startup", "mpi/pt2pt/standard", "mpi/pt2pt/persistent", "mpi/pt2pt/partitioned",
                   "mpi/pt2pt/congestion",
                   "mpi/one-sided", "mpi/collective/blocking", "mpi/collective/non_blocking",
                   "mpi/collective/persistent", "mpi/collective/neighborhood", "xccl/pt2pt", "xccl/collective",
                   "openshmem", "upc", "upcxx"):
        tests += names_in(root / "c" / folder, "osu_*.c") + names_in(root / "c" / folder, "osu_*.cpp")
    options = re.search(r"OMBOP_LONG_OPTIONS_ALL(.*?)\n#define", text_of(root / "c/util/osu_util_options.h"), re.S)
    words = re.findall(r'"([a-z-]+)", *(?:no|required|optional)_argument', options.group(1))
    return ([("test", name) for name in tests if name not in NOT_OSU] +
            [("option", f"--{name}") for name in words])


def gdrcopy(root):
    items = []
    for path in sorted((root / "tests").glob("*.c*")):
        letters = re.search(r'getopt\(argc, argv, "([^"]+)"\)', text_of(path))
        if not letters:
            continue
        items.append(("test", path.stem))
        items += [("option", f"{path.stem} -{letter}") for letter in sorted(letters.group(1).replace(":", ""))]
    return items


READERS = {"perftest": perftest, "nccl-tests": nccl_tests, "nvbandwidth": nvbandwidth, "osu": osu, "gdrcopy": gdrcopy}


def read(peer, folder):
    """The items of a tool in its own order, each once. ValueError names what was not found in the folder."""
    try:
        items = READERS[peer](pathlib.Path(folder))
    except (OSError, AttributeError) as error:
        raise ValueError(f"{folder}: not {peer}'s source as this script knows it: {error}") from error
    if not items:
        raise ValueError(f"{folder}: no test of {peer} found")
    return list(dict.fromkeys(items))
