"""The bounds, the banned words and the published figures. Data only; each entry has its reason."""

import re

# ---- which files count -------------------------------------------------------------------------
PRODUCT_FOLDERS = ("agent", "controller", "kernels", "deploy", "dashboards")
SOURCE_ENDINGS = (".h", ".cc", ".cu", ".cuh", ".proto", ".ts")
# Their comments are prose; they count in no figure. SCRIPTS have no ending.
SCRIPT_ENDINGS = (".sh", ".py", "CMakeLists.txt", ".cmake", ".yaml", ".yml", ".service", ".socket", ".awk")
SCRIPTS = (".ci/run", "deploy/vfabric/vfabric", "deploy/vfabric/guest/init", "deploy/vfabric/guest/boot",
           "deploy/vfabric/guest/boot_rdma")
NOT_PRODUCT_FOLDERS = ("testing", "fakes", "testdata", "generated")
NOT_PRODUCT_STEMS = ("_test", "_bench", "_fuzz")

# The published column left these out as well; --as-published does the same. Each is a pattern of a path.
PUBLISHED_LEAVES_OUT = {
    r"\.proto$": "interface definitions",
    r"/(simulator|sim)/": "the modelled fabric",
    r"_testing\.|/testing_|/fake_": "test helpers among product files, known by their names",
}

# ---- bounds ------------------------------------------------------------------------------------
FOLDER_FILES = 25  # A reader sees a folder's purpose in one screen of names.
LONE_HEADERS = 10  # A header with one includer belongs to that includer.
FILE_LINES = 700  # A longer file has more than one purpose.
FUNCTION_LINES = 70  # A function fits on one screen.
COMMENT_SHARE = 0.11  # The anchors have 12 to 36 %.
README_LINES = 120  # A newcomer reads it whole.
README_BYTES = 9000  # Long lines do not get around the bound of lines.
ARCHITECTURE_LINES = 150  # A picture, the rooms, two lives, the seams.
DECISION_LINES = 30  # Context, decision, alternative, cost.
MARKDOWN_COLUMNS = 100  # A diff and a terminal show the line whole.
PARAGRAPH_LINES = 5  # A longer paragraph holds more than one thought.

# ---- who may ---------------------------------------------------------------------------------
# Each is a pattern of a path that may hold SQL.
SQL_OWNERS = {
    r"^controller/store/": "the store owns the controller's database",
    r"^controller/cli/archive/": "questions to that archive",
    r"^controller/mirror/": "the mirror owns the archive in PostgreSQL",
    r"^agent/(.*/)?spool[^/]*$": "the spool owns the agent's database",
    r"^agent/(.*/)?rpm[^/]*$": "the reader of rpm's database",
}
# Pages and rules for people who look after a site, and the pages that are about SQL itself.
PAGES_FOR_PEOPLE = re.compile(r"^dashboards/(?!console/).*\.(py|yml|yaml|json|md)$|^deploy/docs/(guide|reference)/.*\.md$")
PAGES_ABOUT_SQL = {
    "dashboards/postgres/railgauge-archive.json": "a board of a database",
    "dashboards/source/archive.py": "its source",
    "deploy/docs/guide/archive.md": "the archive's own page",
    "deploy/docs/guide/audit.md": "says what the verb cannot read",
    "deploy/docs/guide/store.md": "the database's own page",
    "deploy/docs/reference/cli.md": "every verb, that of SQL too",
}
# Files that may start a process.
SPAWN_OWNERS = {
    "kernels/core/base/spawn.cc": "descriptors, signals, groups and errors are set in one place",
}
# Stems that several rooms may have.
SHARED_STEMS = {
    "main": "each program has one",
}
# Path -> {rule: reason}. An entry lifts one rule for one file.
EXCEPTIONS = {}

# ---- banned in comments and Markdown -------------------------------------------------------------
# Words that open a sentence. A question may begin with them.
BANNED_OPENINGS = {
    "What": "a relative clause in place of a noun; name the thing",
    "Of": "turns the sentence round; begin with the subject",
}
# Pattern of whole words -> what to write.
BANNED_WORDS = {
    r"tell|tells|told|telling": "write report, log, return or show",
    r"stands": "write is, or name the file that holds it",
    r"lies": "write is",
    r"held against": "write compared with",
    r"gives way": "write yields",
    r"goes on": "write continues",
    r"see to|sees to": "write the act: starts, closes, retries",
    r"desk": "write service",
}
# Names of types and functions.
BANNED_NAMES = {
    "Cast": "NodeRoles",
    "Sides": "UpgradeData",
    "Teller": "ChangeReporter",
    "Eye": "SourceThread",
    "Kept": "MpiProcess",
    "TellingGroup": "a noun that says whom the group reports to",
    "Night": "RunContext",
    "Volley": "a noun of the operation",
    "Hunt": "a noun of the search",
    "go_on_with": "resume, or continue with an object",
    "let_go": "release",
    "see_to": "the verb of the act",
    "give_way": "yield, or the verb of the act",
    "Standing": "a noun of the state",
}

# ---- published figures ---------------------------------------------------------------------------
ANCHORS = ("nvbench", "nighthawk", "ninja", "ocp-diag", "kvikio", "prometheus-cpp")
ANCHOR_FIGURES = {
    "product files": ("113", "159", "86", "66", "72", "53"),
    "product lines": ("19.4k", "16.8k", "18.0k", "8.2k", "12.6k", "3.6k"),
    "file lines p50/p90/max": ("107/321/1577", "63/194/1219", "113/456/1940", "80/294/581",
                               "119/417/902", "45/153/220"),
    "files under 50 lines": ("13 %", "38 %", "23 %", "30 %", "19 %", "53 %"),
    "largest folder": ("73", "33", "86", "13", "17", "15"),
    "function p50/p99/max": ("5/109/330", "3/79/756", "6/163/322", "5/55/136", "6/95/116",
                             "5/45/48"),
    "whole-line comments": ("18 %", "18 %", "20 %", "12 %", "36 %", "16 %"),
    "README lines/kB": ("186/7", "704/26", "106/3", "139/6", "105/3", "365/15"),
}
# Railgauge at ace4749, before the rooms were made. Counted as with --as-published.
BEFORE = {
    "product files": "1,155",
    "product lines": "116.5k",
    "code lines": "97,300",
    "file lines p50/p90/max": "68/237/398",
    "files under 50 lines": "37 %",
    "largest folder": "120",
    "function p50/p99/max": "7/39/62",
    "whole-line comments": "6 %",
    "README lines/kB": "375/31",
    "modules": "690",
    "headers with one includer": "184",
    "of these without a test": "71",
    "headers without .cc": "53",
    ".cc without header": "171",
    "SQL outside its owners": "8",
    "words of Markdown": "47,500",
}
