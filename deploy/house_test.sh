#!/usr/bin/env bash
# Each rule of house.sh finds the offence that is planted, and passes the sound text beside it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree" "$tree.out"' EXIT
passed=0

# The clean tree: two rooms, a page, a decision; nearly half of its lines are comments.
mkdir -p "$tree"/deploy/docs/decisions "$tree"/controller/store "$tree"/agent
cp -r "$here/house.sh" "$here/house" "$tree/deploy/"
printf '// %s\n' "Adds two counts." "Fails when the sum overflows." >"$tree/controller/sum.h"
printf '#pragma once\nint sum(int left, int right);\n' >>"$tree/controller/sum.h"
printf '#include "controller/sum.h"\n// Wraps at the bound.\nint sum(int left, int right) { return left + right; }\n' >"$tree/controller/sum.cc"
printf '// Reads runs.\nconst char* kRuns = "SELECT id FROM run";\n' >"$tree/controller/store/runs.cc"
printf '# Railgauge\n\nMeasures links. See [the decision](deploy/docs/decisions/001-sum.md#cost).\n' >"$tree/README.md"
printf '# Sum\n\n## Cost\nOne addition.\n' >"$tree/deploy/docs/decisions/001-sum.md"
git -C "$tree" init -q

fail() { echo "house_test: $1" >&2; cat "$tree.out" >&2; exit 1; }

# check RULE...: exit status in $got, output in $tree.out
check() {
  got=0
  git -C "$tree" add -A
  "$tree/deploy/house.sh" --check "$@" >"$tree.out" 2>&1 || got=$?
}
# with PATH: writes stdin there
with() { mkdir -p "$tree/$(dirname "$1")"; cat >"$tree/$1"; }
# without PATH...: takes files away; files of the clean tree come back
without() {
  local path
  for path in "$@"; do
    rm -rf "${tree:?}/$path"
    git -C "$tree" checkout -q HEAD -- "$path" 2>/dev/null || true
  done
}
# found RULE PATH LINE [COUNT]: the rule reports this place, and no more places than COUNT (1)
found() {
  check "$1"
  [ "$got" = 1 ] || fail "$1: exit $got, wanted 1 for $2"
  grep -q "^$2:$3: $1: " "$tree.out" || fail "$1: no offence at $2:$3"
  [ "$(grep -c ": $1: " "$tree.out")" = "${4:-1}" ] || fail "$1: more than the planted offence"
  grep -q "^house: $1 ${4:-1}$" "$tree.out" || fail "$1: not in the summary"
  passed=$((passed + 1))
}
sound() {
  check "$1"
  [ "$got" = 0 ] || fail "$1: exit $got, wanted 0"
  passed=$((passed + 1))
}
repeat() { local i; for ((i = 1; i <= $1; i++)); do printf '%b' "$2"; done; }

git -C "$tree" add -A
git -C "$tree" -c user.name=test -c user.email=test@localhost commit -q -m clean
check
[ "$got" = 0 ] || fail "the clean tree: exit $got, wanted 0"

# folders: tests and fakes do not count
for i in {1..25}; do with "agent/many/f$i.cc" <<<'// Empty.'; done
with agent/many/f1_test.cc <<<'// Empty.'
with agent/many/testing/f26.cc <<<'// Empty.'
sound folders
with agent/many/f26.cc <<<'// Empty.'
found folders agent/many 1
without agent/many

# log_subjects: a message about a run, task or node begins with it; words of a helper do too
with agent/words.cc <<<'void f() {
  spdlog::info("node {}: {} (\")", node, why);
  spdlog::warn("run {} task {}: late", run_id, task_id);
  spdlog::warn("{} rank {}: late", name_of(task), rank);
  spdlog::error("store {}: full", path);
}'
sound log_subjects
with agent/words.cc <<<'void f() { spdlog::info("webhook: run {} is "
  "sent", id); }'
found log_subjects agent/words.cc 1
with agent/words.cc <<<'
void f() { spdlog::info("records of {} wait", hello.node_id()); }'
found log_subjects agent/words.cc 2
without agent/words.cc

# includers: 10 pass, 11 do not; a test of its own, a second includer and the own source count
for i in {1..12}; do
  with "agent/lone/h$i.h" <<<'// Empty.'
  with "agent/lone/h$i.cc" <<<"#include \"agent/lone/h$i.h\""
done
repeat 1 "$(for i in {1..12}; do echo "#include \"agent/lone/h$i.h\"\\n"; done)" | with agent/lone/user.cc
with agent/lone/h12_test.cc <<<'#include "agent/lone/h12.h"'
found includers agent/lone/h1.h 1 11
with agent/lone/h11_test.cc <<<'#include "agent/lone/h11.h"'
sound includers
without agent/lone/h11_test.cc
with agent/lone/other.cc <<<'#include "agent/lone/h11.h"'
sound includers
without agent/lone

# file_lines: tests count as well
repeat 700 '\n' | with agent/long_test.cc
sound file_lines
repeat 701 '\n' | with agent/long_test.cc
found file_lines agent/long_test.cc 701
without agent/long_test.cc

# function_lines
{ printf '\nint f() {\n'; repeat 68 '  g();\n'; printf '}\n'; } | with agent/f.cc
sound function_lines
{ printf '\nint f() {\n'; repeat 69 '  g();\n'; printf '}\n'; } | with agent/f.cc
found function_lines agent/f.cc 2
without agent/f.cc

# comments: a comment behind code and one in a string are no whole line
{ repeat 80 'f();  // Why.\n'; printf 'g("\\\n// no comment");\n'; } | with agent/bare.cc
found comments . 1
{ printf '/* Says\n   why.\n'; repeat 10 ' * Why.\n'; printf ' */\n'; repeat 80 'f();\n'; } | with agent/bare.cc
sound comments
without agent/bare.cc

# readme, architecture, decisions: lines and bytes
repeat 121 '\n' | with README.md
found readme README.md 121
repeat 1 "$(printf '%09000d' 0)\\n" | with README.md
found readme README.md 1
repeat 120 'Few.\n' | with README.md
sound readme
without README.md
repeat 151 '\n' | with ARCHITECTURE.md
found architecture ARCHITECTURE.md 151
without ARCHITECTURE.md
repeat 31 '\n' | with deploy/docs/decisions/002-long.md
found decisions deploy/docs/decisions/002-long.md 31
without deploy/docs/decisions/002-long.md

# pairs: a test may include back
with controller/store/back.cc <<<'#include "controller/sum.h"'
with controller/to_test.cc <<<'#include "controller/store/runs.h"'
sound pairs
with controller/to.cc <<<'#include "controller/store/runs.h"'
found pairs controller/to.cc 1
without controller/to_test.cc controller/to.cc controller/store/back.cc

# sql: the owners hold it, prose that resembles it is none, literals join
with agent/link/spool_file.cc <<<'auto q = "DELETE FROM record WHERE id = ?";'
with controller/note.cc <<<'// SELECT a FROM b, DELETE FROM c
auto q = "Select a run from the list";'
sound sql
printf 'auto q =\n    "UPDATE run"\n    " SET state = 1";\n' | with controller/note.cc
found sql controller/note.cc 2
printf 'auto q = R"(\nSELECT id\nFROM run)";\n' | with controller/note.cc
found sql controller/note.cc 1
without controller/note.cc agent/link
with controller/rows.sql <<<'SELECT 1;'
found sql controller/rows.sql 1
without controller/rows.sql

# spawns: each way to start a process is found; members, longer names, comments and the owner are not
with agent/start.cc <<<'// Calls fork() nowhere.
int start() { return fork_process("a") + shell.system() + file_system("b"); }'
with kernels/core/base/spawn.cc <<<'int start() { return ::fork(); }'
with agent/start_test.cc <<<'int start() { return ::fork(); }'
sound spawns
for call in 'pid = ::fork();' 'fork();' 'if (vfork() < 0)' '::posix_spawnp(&pid);' 'return std::system("ls");' 'auto* in = popen("ls", "r");'; do
  with agent/start.cc <<<"void start() { $call }"
  found spawns agent/start.cc 1
done
without agent/start.cc agent/start_test.cc kernels/core/base/spawn.cc

# stems: header and source are one, rooms apart may share
with agent/sum.cc <<<'// Empty.'
with controller/main.cc <<<'// Empty.'
with controller/store/main.cc <<<'// Empty.'
with controller/store/sum_test.cc <<<'// Empty.'
sound stems
with controller/store/sum.cc <<<'// Empty.'
found stems controller/sum.h 1
without controller/store/sum.cc controller/store/main.cc controller/store/sum_test.cc controller/main.cc agent/sum.cc

# unbuilt: a test that CMake does not name; a folder's tests together, or by a path
with controller/store/runs_test.cc <<<'// Empty.'
with controller/sum_test.cc <<<'// Empty.'
with controller/CMakeLists.txt <<<'railgauge_tests_in(tests store)
railgauge_test(sum_test SOURCES ./sum_test.cc)'
sound unbuilt
with controller/CMakeLists.txt <<<'railgauge_tests_in(tests store)
# railgauge_test(sum_test SOURCES sum_test.cc)'
found unbuilt controller/sum_test.cc 1
without controller/store/runs_test.cc controller/sum_test.cc controller/CMakeLists.txt

# markdown: columns and paragraphs; code, tables and targets of links are free
long=$(printf 'word %.0s' {1..21})
{ printf '```\n%s\n```\n\n| %s |\n|---|\n\n' "$long" "$long"
  printf '[link](%s) and https://example.org/%s\n\n' "${long// /_}" "${long// /_}"
  repeat 7 '- item\n'; printf '\n'; repeat 5 'Text.\n'; printf '\n    %s\n' "$long"; } | with page.md
sound markdown
printf '# Page\n\n%s\n' "$long" | with page.md
found markdown page.md 3
{ printf '# Page\n\n'; repeat 6 'Text.\n'; } | with page.md
found markdown page.md 3
{ printf '# Page\n\n- one\n- two\n'; repeat 5 '  more\n'; } | with page.md
found markdown page.md 4
without page.md

# links: files, folders and headings; code and addresses are free
printf '# A Page: it\n[a](#a-page-it) [b](deploy/) [c](/README.md) [d](https://x.org/y) `[e](no.md)`\n\n```\n[f](no.md)\n```\n' | with page.md
sound links
printf '# Page\n\nText\n[a](deploy/no.md)\n' | with page.md
found links page.md 4
printf '[a](README.md#no)\n' | with page.md
found links page.md 1
printf '[a]\n\n[a]: no.md\n' | with page.md
found links page.md 3
without page.md

# words: openings
printf '// What is it? What: a colon. Somewhat. See `What is it`.\nauto s = "What is told";\n// One: Of course not.\n' | with agent/w.cc
sound words
printf '\n// What is read.\n' | with agent/w.cc
found words agent/w.cc 2
printf 'f();  // Opens.\n      // And then, late. Of\n      // all of them.\n' | with agent/w.cc
found words agent/w.cc 2
printf '/**\n * Opens.\n *\n * What is read.\n */\n' | with agent/w_test.cc
without agent/w.cc
found words agent/w_test.cc 4
without agent/w_test.cc
printf '#!/bin/sh\n# Opens.\necho "# What"  # x\n# It reads. What\n# is read.\n' | with agent/w.sh
found words agent/w.sh 4
without agent/w.sh
printf 'def f():\n    """What is read."""\n    return """What"""\n' | with agent/w.py
found words agent/w.py 2
without agent/w.py
printf '# Of all rooms.\n' | with agent/CMakeLists.txt
found words agent/CMakeLists.txt 1
without agent/CMakeLists.txt
printf '# Page\n\n- What is read\n' | with page.md
found words page.md 3
printf '| a | b |\n|---|---|\n| c | What is read |\n' | with page.md
found words page.md 3
printf '**Of all** of them.\n' | with page.md
found words page.md 1
printf '```\nWhat is read\n```\n`it tells` [text](tells.md) <!-- fine -->\n' | with page.md
sound words
without page.md
# words: each banned word; an empty comment line separates
banned=(tell tells told Telling stands lies 'held against' 'gives way' 'goes on' 'see to' 'sees to' desk)
printf '// It %s there.\n//\n' "${banned[@]}" | with agent/w.cc
found words agent/w.cc 1 ${#banned[@]}
for i in "${!banned[@]}"; do
  grep -q "^agent/w.cc:$((2 * i + 1)): words: \"${banned[i]}\"" "$tree.out" || fail "words: not found: ${banned[i]}"
done
printf '// It is held\n// against it.\n' | with agent/w.cc
found words agent/w.cc 1
printf '// Standstill, liest, teller, desktop, foresees towards.\n' | with agent/w.cc
sound words
without agent/w.cc
printf 'Text.\nIt stands there.\n' | with page.md
found words page.md 2
without page.md
# words: names of types and functions
names=('struct Cast {};' 'class Sides {};' 'struct Teller { int a; };' 'enum class Eye { kA };' 'using Kept = int;'
  'struct TellingGroup {};' 'struct Night {};' 'struct Volley {};' 'struct Hunt {};' 'void go_on_with(int a);'
  'void let_go() {}' 'struct A { void see_to(); };' 'bool give_way();' 'enum class Standing { kA };')
printf '%s\n' "${names[@]}" | with agent/n.cc
found words agent/n.cc 1 ${#names[@]}
for i in "${!names[@]}"; do
  grep -q "^agent/n.cc:$((i + 1)): words: the name " "$tree.out" || fail "words: not found: ${names[i]}"
done
printf 'int Cast = 1;\nint broadcast();\nstruct CastIron {};\n' | with agent/n.cc
sound words
without agent/n.cc

# An exception lifts one rule for one file.
printf '// It stands there.\n' | with agent/w.cc
sed -i "s|^EXCEPTIONS = {}|EXCEPTIONS = {'agent/w.cc': {'words': 'a test'}}|" "$tree/deploy/house/lists.py"
sound words
sed -i "s|^EXCEPTIONS = .*|EXCEPTIONS = {'agent/w.cc': {'links': 'a test'}}|" "$tree/deploy/house/lists.py"
found words agent/w.cc 1
without agent/w.cc deploy/house/lists.py

# The whole check, an unknown rule, the table.
check
[ "$got" = 0 ] || fail "the clean tree at the end: exit $got, wanted 0"
check no_such_rule
[ "$got" = 2 ] || fail "an unknown rule: exit $got, wanted 2"
"$tree/deploy/house.sh" >"$tree.out"
grep -Eq '^product files +3 +1,155 +113 ' "$tree.out" || fail "the table has no row of product files"
grep -q '^longest function: sum, controller/sum.cc:3, 1 lines$' "$tree.out" || fail "the table names no function"
passed=$((passed + 4))
echo "$passed passed, 0 failed"
