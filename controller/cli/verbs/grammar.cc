#include <algorithm>
#include <array>

#include "controller/api/event_kinds.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

// Flags that several verbs share. A name has one meaning everywhere, because flags are read before
// the verb is known (input/arguments.cc). Each entry: name, letter, value ("" for a switch),
// summary. Brackets hold the default.
constexpr Flag kNodes{"nodes", 0, "SET", "gpu[001-064],n7,!gpu013,@rack7"};
constexpr Flag kLabels{"labels", 'l', "KEY=VALUE", "only nodes with the labels: rack=rack7,pod=p1"};
constexpr Flag kNodesFile{"nodes-file", 0, "FILE", "a node set a line, # starts a comment"};
constexpr Flag kWait{"wait", 0, "DURATION",
                     "stop waiting after this long; the run continues [24h]"};

// Repeating a list: program-wide flags that the verbs themselves never read (live/watch.h).
constexpr Flag kWatch{"watch", 0, "", "repeat until Ctrl-C"};
constexpr Flag kInterval{"interval", 0, "DURATION", "time between two views of --watch [2s]"};
constexpr Flag kExclusive{"exclusive", 0, "", "the fabric is reserved: do not yield to neighbours"};
// Filters of stored points, read by points_request in input/inputs.h.
constexpr Flag kEndpoint{"endpoint", 0, "NAME", "mlx5_0:1, gpu0, n1/gpu0; as named now or ever"};
constexpr Flag kRail{"rail", 0, "N", "points that have an endpoint of this rail, from 0"};
constexpr Flag kStack{"stack", 0, "KEY=VALUE", "gpu_driver=550.54, when it was measured"};
constexpr Flag kSeries{"series", 0, "N", "one series, as railgauge history numbers it"};
constexpr Flag kSince{"since", 0, "TIME", "24h (ago), 2026-11-20 or 2026-11-20T12:00:00Z"};
constexpr Flag kUntil{"until", 0, "TIME", "before this time, likewise"};
constexpr Flag kAllAttempts{"all-attempts", 0, "", "also attempts that do not count"};

// The scope of a run or a plan.
constexpr Flag kSlice{"slice", 0, "K/N", "3/96: the third of 96 slices of all pairs"};
constexpr std::array kPlanFlags{kNodes, kLabels, kNodesFile, kSlice};
// How a run is started and awaited.
constexpr Flag kDetach{"detach", 0, "", "print the run's id and end; the run continues"};
constexpr Flag kForce{"force", 0, "", "on busy nodes too, beside their jobs; needs --reason"};
constexpr Flag kReason{"reason", 0, "TEXT", "why it is forced, kept with the run"};
constexpr Flag kVerbose{"verbose", 0, "", "a line for each task in place of the summary"};
constexpr std::array kRunFlags{
    kNodes,     kLabels,
    kNodesFile, Flag{"all", 0, "", "all nodes, needed without a node set beyond 16 nodes"},
    kDetach,    kExclusive,
    kWait,      kForce,
    kReason,    kSlice,
    kVerbose};
constexpr std::array kResumeFlags{kDetach, kExclusive, kWait, kForce, kReason, kVerbose};
constexpr std::array kWaitFlags{kWait, kVerbose};
constexpr std::array kProveFlags{
    kLabels,
    kNodesFile,
    Flag{"suite", 0, "SUITE", "what is measured [prove]"},
    Flag{"file", 0, "FILE", "also write the certificate, which railgauge verify checks"},
    kDetach,
    kWait,
    kForce,
    kReason,
    kVerbose};
// Lists, and one run's page.
constexpr std::array kListNodesFlags{kLabels, kNodesFile, kWatch, kInterval};
constexpr std::array kPauseFlags{
    kLabels, kNodesFile, Flag{"reason", 0, "TEXT", "why; everybody who misses them reads it"},
    Flag{"until", 0, "TIME", "resumed by themselves then: 2026-11-28T08:00:00Z"},
    Flag{"for", 0, "DURATION", "or after this long: 2h"}};
constexpr std::array kResumeNodesFlags{kLabels, kNodesFile};
constexpr std::array kListRunsFlags{Flag{"limit", 0, "N", "at most the N newest [20]"}, kWatch,
                                    kInterval};
constexpr std::array kShowRunFlags{
    Flag{"tasks", 0, "", "every task, not groups of like ones"},
    Flag{"phases", 0, "", "also where each rank's time went: start, open, wait, ..."},
    Flag{"as", 0, "TOOL", "its command lines: nvbandwidth, gdrcopy, perftest, nccl-tests"}, kWatch,
    kInterval};
// The entries of both lists, one after the other.
template <class Row, std::size_t First, std::size_t Second>
constexpr auto joined(const std::array<Row, First>& first, const std::array<Row, Second>& second) {
  std::array<Row, First + Second> all;
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}
// Points: results prints tables, export streams any number, history follows one series.
constexpr Flag kKernel{"kernel", 0, "NAME", "verbs.write_lat"};
constexpr Flag kMetric{"metric", 0, "NAME", "latency_ns"};
constexpr std::array kPointFlags{
    kKernel,   kMetric,     kNodes, kLabels, Flag{"size", 0, "BYTES", "message size: 8, 64KiB"},
    kEndpoint, kRail,       kStack, kSeries, kSince,
    kUntil,    kAllAttempts};
constexpr auto kResultsFlags = joined(
    kPointFlags, std::array{Flag{"limit", 0, "N", "at most N points [1000]"}, kWatch, kInterval});
constexpr auto kExportFlags =
    joined(kPointFlags, std::array{Flag{"limit", 0, "N", "at most N points [all]"}});
constexpr std::array kHistoryFlags{
    Flag{"kernel", 0, "NAME", "filter the list"},
    Flag{"metric", 0, "NAME", "likewise"},
    kNodes,
    kLabels,
    Flag{"size", 0, "BYTES", "likewise"},
    kEndpoint,
    kRail,
    kSince,
    Flag{"limit", 0, "N", "the newest N points, or N series [1000]"}};
// Pairs of nodes: the defaults choose the figure with the most pairs.
constexpr Flag kPairKernel{"kernel", 0, "NAME", "verbs.write_bw [what has most pairs]"};
constexpr Flag kPairMetric{"metric", 0, "NAME", "[bandwidth before latency]"};
constexpr Flag kPairSize{"size", 0, "BYTES", "message size: 8, 64KiB [the largest]"};
constexpr Flag kPairNodes{"nodes", 0, "SET", "pairs among these: gpu[001-064] [all]"};
constexpr std::array kMatrixFlags{
    kPairKernel,
    kPairMetric,
    kPairSize,
    kPairNodes,
    kLabels,
    Flag{"rail", 0, "N", "from 0 [the first measured]"},
    Flag{"memory", 0, "KIND", "host or gpu [the first measured]"},
    Flag{"runs", 0, "N", "one matrix of the newest N runs of the suite"},
    Flag{"svg", 0, "FILE", "also write the picture to FILE"}};
constexpr std::array kSuspectsFlags{kPairKernel, kPairMetric, kPairSize, kPairNodes, kLabels};
// The database and the support archive.
constexpr std::array kSqlFlags{Flag{"limit", 0, "N", "at most N rows [1000]"},
                               Flag{"seconds", 0, "DURATION", "at most so long, up to 60s [10s]"}};
constexpr std::array kBundleFlags{
    Flag{"file", 0, "FILE", "the archive to write [railgauge-SUBJECT.tar]"},
    Flag{"redact", 0, "", "numbered words in place of names and addresses"}};
constexpr std::array kStatsFlags{
    Flag{"project", 0, "NODES", "also GB a year at so many nodes, from what was stored so far"}};
constexpr std::array kPruneFlags{
    Flag{"raw-days", 0, "DAYS", "keep raw samples so long [as the controller is set]"},
    Flag{"distribution-days", 0, "DAYS", "keep distributions so long [likewise]"},
    Flag{"point-days", 0, "DAYS", "keep points so long; daily figures stay [likewise]"}};
constexpr std::array kAuditFlags{kSince,
                                 Flag{"who", 0, "NAME", "calls of this user or certificate"},
                                 Flag{"rpc", 0, "CALL", "StartRun, or Control.StartRun"},
                                 Flag{"refused", 0, "", "only calls that were refused"},
                                 Flag{"limit", 0, "N", "at most the N newest, up to 5000 [100]"}};
// Events.
constexpr std::array kEventsFlags{
    kSince,
    Flag{"kind", 0, "KINDS", "by commas: stack_changed, or a word of kinds: xid, link, node"},
    kNodes,
    kLabels,
    Flag{"run", 0, "RUN", "events of this run"},
    Flag{"limit", 0, "N", "at most the N newest, up to 5000 [1000]"},
    Flag{"follow", 0, "", "print what comes until Ctrl-C, a line each"}};
constexpr std::array kVerifyFlags{
    Flag{"key", 0, "FILE", "the signer's public key or certificate, PEM: it must have signed"}};
constexpr std::array kReportFlags{
    kSince, Flag{"upgrade", 0, "UPGRADE", "of this upgrade, in place of a time or a run"}, kNodes,
    kLabels};
// Verbs that need no stored run.
constexpr std::array kAnalyzeFlags{
    Flag{"direction", 0, "BETTER", "higher or lower: which values are better"}};
constexpr std::array kPreflightFlags{
    kLabels,
    Flag{"explain", 0, "CHECK", "one check: why it matters, all its results, what to do"},
    Flag{"summary", 0, "", "a line for each GPU and its NIC: GPUDirect or not, why, what to do"},
    Flag{"local", 0, "", "this host, by its railgauge-agent, without a controller"},
    Flag{"require", 0, "CHECKS", "checks, by commas, or all: their unknown counts (exit code 3)"},
    Flag{"probe", 0, "", "register idle GPUs' memory with their NICs: the proof of GPUDirect"},
    Flag{"passed", 0, "", "show also what passed or is waived"}};
constexpr std::array kRestoreFlags{
    Flag{"database", 0, "FILE", "the controller's [/var/lib/railgauge/railgauge.db]"}};

constexpr std::array kMetricsFlags{
    Flag{"describe", 0, "", "each with its labels and what bounds them"}};

// The controller parses times, dates and zones: their texts pass unchanged.
constexpr std::array kScheduleFlags{
    Flag{"cron", 0, "EXPRESSION", "\"30 1 * * *\": minute hour day month weekday, or @daily"},
    Flag{"zone", 0, "ZONE", "Europe/Berlin [UTC]"},
    kNodes,
    kLabels,
    kNodesFile,
    Flag{"jitter", 0, "DURATION", "start up to so much later, the same for a day [0s]"},
    Flag{"window", 0, "TIMES", "only then: \"mon-fri 22:00-06:00; sat,sun\" [always]"},
    Flag{"blackout", 0, "DATES", "never on: 2026-12-24,2026-12-31..2027-01-02"},
    Flag{"concurrency", 0, "POLICY", "while its last run is active: skip, queue, replace [skip]"},
    Flag{"catch-up", 0, "DURATION", "start late, up to DURATION [never]"},
    kExclusive,
    Flag{"paused", 0, "", "added, but not started before it is resumed"}};

// Upgrades.
constexpr Flag kUpgradeSuite{"suite", 0, "SUITE", "what is measured on either side [upgrade]"};
constexpr Flag kControls{"controls", 0, "SET", "nodes that do not change; none [like ones, idle]"};
constexpr Flag kNote{"note", 0, "TEXT", "why, kept with it"};
constexpr Flag kOnInconclusive{"on-inconclusive", 0, "WHAT",
                               "extend or fail [extend: measure again, 4 times at most]"};
constexpr Flag kMinCoverage{"min-coverage", 0, "SHARE",
                            "95%: of the changed pairs, measured for a pass [100%]"};
constexpr Flag kWaitNodes{"wait-nodes", 0, "DURATION",
                          "wait so long for nodes and their new stack, as of a reboot [0s]"};
constexpr Flag kTimeLimit{"time-limit", 0, "DURATION",
                          "end after this long in all, a queue too; a run is cancelled [24h]"};
constexpr std::array kPrepareFlags{kNodes, kLabels, kNodesFile, kControls, kUpgradeSuite, kWait};
constexpr std::array kGateFlags{
    kNodes,          kLabels,
    kNodesFile,      Flag{"expect", 0, "PART=VERSION", "driver=580.95: exit 4 unless nodes run it"},
    kOnInconclusive, kMinCoverage,
    kControls,       kUpgradeSuite,
    kWaitNodes,      kTimeLimit};
constexpr std::array kExtendFlags{kOnInconclusive, kMinCoverage, kWaitNodes, kTimeLimit};
constexpr std::array kShowUpgradeFlags{
    Flag{"exit-code", 0, "", "end as the gate does: 0, 1, 3, or 4 without a verdict"},
    Flag{"wait", 0, "DURATION", "wait so long for the verdict [0s]"}};
// Findings and baselines.
constexpr std::array kFindingsFlags{
    kNodes, kLabels,
    Flag{"state", 0, "STATE", "one state: confirmed, investigating, fixed, ... [all but closed]"},
    Flag{"tag", 0, "TAG", "those with this tag"}, Flag{"limit", 0, "N", "at most N [100]"}};
constexpr std::array kAckFlags{Flag{"for", 0, "DURATION", "open again after this long [never]"},
                               kNote};
constexpr std::array kNoteFlags{kNote};
constexpr std::array kResolveFlags{
    Flag{"false", 0, "", "false alarm, not fixed"},
    Flag{"rolled-back", 0, "", "its cause was taken back, not mended"}, kNote};
constexpr std::array kDownstreamFlags{
    Flag{"of", 0, "CAUSE", "the finding that causes it, or another cause in words"}};
constexpr std::array kTagFlags{Flag{"add", 0, "TAG", "letters, digits and . _ - : /, 40 at most"},
                               Flag{"remove", 0, "TAG", "take it away"}};
constexpr std::array kRerunFlags{
    Flag{"control", 0, "", "pairs that it does not touch, to separate it from the fabric"}};
constexpr std::array kAssignFlags{Flag{"to", 0, "WHO", "its owner [nobody]"}};
constexpr std::array kNudgeFlags{Flag{"earlier", 0, "N", "it began N figures earlier, 1 or 2"},
                                 Flag{"later", 0, "N", "it began N figures later, 1 or 2"}};
constexpr std::array kPinFlags{kKernel, kMetric, kSeries, kNote};

// A modelled site.
constexpr std::array kClockFlags{
    Flag{"wait", 0, "DURATION", "stop waiting after this long; the clock stays there [24h]"}};
constexpr std::array kDemoFlags{Flag{"nodes", 0, "N", "modelled nodes, 16 to 1024 [64]"},
                                Flag{"once", 0, "", "end after the verdict"}};

// pki.
constexpr Flag kDays{"days", 0, "N", "valid so long [authority 3650, list 30, others 730]"};
constexpr std::array kDaysFlags{kDays};
constexpr std::array kIssueFlags{
    kDays, Flag{"san", 0, "HOSTS", "a controller's names and addresses, by commas [NAME]"}};
constexpr std::array kRenewFlags{kDays, Flag{"new-key", 0, "", "a new key too [the key stays]"}};

// tokens.
constexpr std::array kTokenFlags{
    Flag{"nodes", 0, "SET", "only these may use it: gpu[001-064] [any name]"},
    Flag{"uses", 0, "N", "good so often [one a node of --nodes, else 1]"},
    Flag{"expires", 0, "DURATION", "good so long, up to 720h [1h]"},
    Flag{"replace", 0, "", "also nodes that have a certificate, which ends; needs --nodes"}};

// Rows of one task of their users, which the help shows below its heading.
template <std::size_t Count>
constexpr auto in_group(std::string_view heading, std::array<Verb, Count> verbs) {
  for (Verb& verb : verbs) verb.group = heading;
  return verbs;
}

// Noun, verb, operands, summary, an example, flags, function. The order is that of the help. A new
// verb needs its line here, its declaration in commands.h and its function; a new flag needs its
// line here and the code that reads it.
constexpr std::span<const Flag> kNoFlags;
// Read each morning, and when something is wrong.
constexpr auto kDayVerbs = in_group(
    "The site, day by day",
    std::array{
        Verb{"report", "", "[RUN]",
             "one page: measured, missed, findings, suspects, next [--since 24h]",
             "report --since 24h", kReportFlags, show_report, false, true},
        Verb{"findings", "", "", "list open findings", "findings --state confirmed", kFindingsFlags,
             list_findings},
        Verb{"findings", "show", "FINDING", "one finding and its history",
             "findings show step-gpu017", kNoFlags, show_finding},
        Verb{"findings", "ack", "FINDING", "acknowledge a finding",
             "findings ack step-gpu017 --for 7d --note \"cable ordered\"", kAckFlags,
             acknowledge_finding},
        Verb{"findings", "accept", "FINDING", "accept the new level as baseline",
             "findings accept step-gpu017 --note \"new cable\"", kNoteFlags, accept_finding},
        Verb{"findings", "investigate", "FINDING", "somebody looks for its cause",
             "findings investigate step-gpu017", kNoteFlags, investigate_finding},
        Verb{"findings", "downstream", "FINDING", "mark as the effect of another one",
             "findings downstream step-gpu017 --of part-gpu017", kDownstreamFlags,
             downstream_finding},
        Verb{"findings", "rerun", "FINDING", "measure it again (--control: beside it)",
             "findings rerun step-gpu017", kRerunFlags, rerun_finding},
        Verb{"findings", "resolve", "FINDING", "mark as fixed (--false: false alarm)",
             "findings resolve step-gpu017 --false", kResolveFlags, resolve_finding},
        Verb{"findings", "reopen", "FINDING", "reopen a finding", "findings reopen step-gpu017",
             kNoteFlags, reopen_finding},
        Verb{"findings", "reset", "FINDING", "undo the state that a person set",
             "findings reset step-gpu017", kNoteFlags, reset_finding},
        Verb{"findings", "tag", "FINDING", "add or remove a tag",
             "findings tag step-gpu017 --add cable", kTagFlags, tag_finding},
        Verb{"findings", "note", "FINDING", "add a note to its history",
             "findings note step-gpu017 --note \"cable ordered\"", kNoteFlags, note_finding},
        Verb{"findings", "assign", "FINDING", "name the owner of a finding",
             "findings assign step-gpu017 --to ada", kAssignFlags, assign_finding},
        Verb{"findings", "nudge", "FINDING", "move the begin of a finding by a figure or two",
             "findings nudge step-gpu017 --earlier 1", kNudgeFlags, nudge_finding},
        Verb{"events", "", "", "what happened: stacks, Xids, links, nodes, runs, proposals",
             "events --since 2d --kind xid", kEventsFlags, list_events},
        Verb{"nodes", "", "[NODESET]", "the nodes that the controller knows", "nodes -l rack=rack7",
             kListNodesFlags, list_nodes},
        Verb{"nodes", "show", "NODE", "one node: its stack, NICs, GPUs and facts",
             "nodes show gpu017", kNoFlags, show_node},
        Verb{"nodes", "diff", "A B", "facts that differ", "nodes diff gpu017 gpu[001-016]",
             kNoFlags, diff_node_sets},
        Verb{"nodes", "pause", "[NODESET]",
             "maintenance: left out of runs and judging until a time",
             "nodes pause gpu[001-008] --for 2h --reason \"DIMM swap\"", kPauseFlags, pause_nodes},
        Verb{"nodes", "resume", "[NODESET]", "end their maintenance now",
             "nodes resume gpu[001-008]", kResumeNodesFlags, resume_nodes},
        Verb{"nodes", "rename", "NODE NAME", "after its host was renamed: history follows",
             "nodes rename gpu017 gpu117", kNoFlags, rename_node},
        Verb{"preflight", "", "[NODE...]", "faults of nodes and their remedies",
             "preflight gpu[001-016] --require acs,mtu", kPreflightFlags, show_preflight},
        Verb{"topo", "", "NODE", "GPU/NIC topology", "topo gpu017", kNoFlags, show_topology},
    });
// Suites and their runs, by hand and by themselves.
constexpr auto kMeasureVerbs = in_group(
    "Measure",
    std::array{
        Verb{"run", "", "SUITE", "run a suite (name or file.yaml), wait, print the results",
             "run fabric --nodes gpu[001-016]", kRunFlags, run_suite},
        Verb{"runs", "", "", "the newest runs", "runs --limit 50", kListRunsFlags, list_runs},
        Verb{"runs", "show", "RUN", "one run: how its tasks ended, and why",
             "runs show 20261126-013000-8e02b7", kShowRunFlags, show_run},
        Verb{"runs", "wait", "RUN", "wait, print results; 1: it failed or confirmed a finding",
             "runs wait 20261126-013000-8e02b7 --wait 2h", kWaitFlags, wait_run},
        Verb{"runs", "resume", "RUN", "run what a stopped run left, as it was planned",
             "runs resume 20261126-013000-8e02b7", kResumeFlags, resume_run},
        Verb{"runs", "cancel", "RUN", "cancel a run and wait until it has ended",
             "runs cancel 20261126-013000-8e02b7", kNoFlags, cancel_run_verb},
        Verb{"prove", "", "[NODESET]",
             "after a repair: as good as peers and past? exit code 0, 1, 3 or 4",
             "prove gpu017 --file gpu017.json", kProveFlags, prove_nodes},
        Verb{"suites", "", "", "the suites in the controller's folder", "suites", kNoFlags,
             list_suites},
        Verb{"suites", "show", "SUITE", "one suite", "suites show nightly", kNoFlags, show_suite},
        Verb{"suites", "check", "FILE", "check a suite file (or a name), run nothing",
             "suites check ./my-suite.yaml", kNoFlags, check_suite},
        Verb{"suites", "plan", "SUITE", "show the plan of a run, run nothing",
             "suites plan nightly --slice 3/7", kPlanFlags, plan_suite},
        Verb{"schedules", "", "", "suites that start by themselves, and when next", "schedules",
             kNoFlags, list_schedules},
        Verb{"schedules", "show", "SCHEDULE", "one schedule and the results of its due times",
             "schedules show nightly", kNoFlags, show_schedule},
        Verb{"schedules", "add", "NAME SUITE", "start a suite by itself (--cron says when)",
             "schedules add weekly fabric --cron \"0 2 * * sun\"", kScheduleFlags, add_schedule},
        Verb{"schedules", "set", "SCHEDULE active|paused|removed",
             "let it start, let it wait, or remove it; its runs stay",
             "schedules set nightly paused", kNoFlags, set_schedule},
        Verb{"schedules", "run-now", "SCHEDULE", "start it now as well, print the run's id",
             "schedules run-now nightly", kNoFlags, run_schedule_now},
        Verb{"kernels", "", "", "the measurement programs that the nodes have", "kernels", kNoFlags,
             list_kernels},
        Verb{"kernels", "show", "KERNEL", "one kernel: parameters, ranges, defaults",
             "kernels show verbs.write_bw", kNoFlags, show_kernel},
    });
// Stored figures, compared and judged.
constexpr auto kFiguresVerbs = in_group(
    "Read what was measured",
    std::array{
        Verb{"results", "", "[RUN]", "points of a run [the newest that ended]; RUN may be \"all\"",
             "results 20261126-013000-8e02b7 --size 64KiB", kResultsFlags, show_results},
        Verb{"history", "", "[SERIES]", "a series over time; without one the series that there are",
             "history --nodes gpu017 --kernel verbs.write_bw", kHistoryFlags, show_history},
        Verb{"runs", "compare", "A B", "two runs, series by series",
             "runs compare 20261125-013000-5f3a1c 20261126-013000-8e02b7", kNoFlags, compare_runs},
        Verb{"runs", "matrix", "[RUN]", "pair matrix: heat map, CSV, SVG",
             "runs matrix --rail 3 --svg matrix.svg", kMatrixFlags, show_matrix},
        Verb{"runs", "suspects", "[RUN]", "slow parts with evidence; exit code 1 when there is one",
             "runs suspects 20261126-013000-8e02b7", kSuspectsFlags, show_suspects},
        Verb{"baselines", "", "", "pinned baselines and current levels", "baselines", kNoFlags,
             list_baselines},
        Verb{"baselines", "pin", "", "pin current levels as golden baseline",
             "baselines pin --kernel verbs.write_bw --note acceptance", kPinFlags, pin_baselines},
        Verb{"baselines", "diff", "", "losses against the golden levels, accepted or not",
             "baselines diff", kNoFlags, diff_baselines},
        Verb{"certificate", "", "[RUN|UPGRADE]",
             "what was tested and would have been seen; -o json: the document [newest]",
             "certificate 20261126-013000-8e02b7 -o json", kNoFlags, show_certificate},
        Verb{"verify", "", "FILE",
             "check a certificate offline: 0 sound, 1 changed or of another key",
             "verify certificate.json --key signer.pem", kVerifyFlags, verify_certificate, true},
        Verb{"analyze", "", "FILE...", "changes in series from outside: csv of time,value or value",
             "analyze latency.csv --direction lower", kAnalyzeFlags, analyze_files, true},
    });
// The gate before and after new software on nodes.
constexpr auto kUpgradeVerbs = in_group(
    "Upgrade nodes",
    std::array{
        Verb{"upgrades", "", "", "upgrades and their verdicts", "upgrades", kNoFlags,
             list_upgrades},
        Verb{"upgrades", "prepare", "", "measure nodes before they are upgraded",
             "upgrades prepare --nodes gpu[401-416]", kPrepareFlags, prepare_upgrade},
        Verb{"upgrades", "gate", "",
             "measure upgraded nodes: did they get worse? exit code 0, 1, 3 or 4",
             "upgrades gate --nodes gpu[401-416] --expect driver=580.95", kGateFlags, gate_upgrade},
        Verb{"upgrades", "extend", "UPGRADE",
             "measure once more for an upgrade that was judged; exit code as gate",
             "upgrades extend u20261126-030000-1a2b3c", kExtendFlags, extend_upgrade},
        Verb{"upgrades", "show", "[UPGRADE]", "losses with place, time and cause [the newest]",
             "upgrades show u20261126-030000-1a2b3c --exit-code --wait 2h", kShowUpgradeFlags,
             show_upgrade},
    });
// For whoever runs the controller.
constexpr auto kInstallationVerbs = in_group(
    "Look after the installation",
    std::array{
        Verb{"doctor", "", "",
             "the installation itself: sockets, certificates, clocks, disk, backups", "doctor",
             kNoFlags, show_doctor},
        Verb{"audit", "", "", "who changed what, and which calls were refused; for operators",
             "audit --refused --since 2d", kAuditFlags, list_audit},
        Verb{"pki", "init", "FOLDER", "make a certificate authority and its empty revocation list",
             "pki init /etc/railgauge/pki", kDaysFlags, init_pki, true},
        Verb{"pki", "issue", "FOLDER ROLE NAME",
             "key and certificate; ROLE: controller, agent (a set too), operator, viewer",
             "pki issue /etc/railgauge/pki agent gpu[001-064]", kIssueFlags, issue_certificates,
             true},
        Verb{"pki", "renew", "FOLDER NAME", "certificates (NAME may be a set) with a new end",
             "pki renew /etc/railgauge/pki gpu017 --days 365", kRenewFlags, renew_certificates,
             true},
        Verb{"pki", "revoke", "FOLDER NAME|SERIAL",
             "all certificates of a name, or one; writes the list",
             "pki revoke /etc/railgauge/pki gpu017", kDaysFlags, revoke_certificates, true},
        Verb{"pki", "crl", "FOLDER", "write the revocation list anew, before it ends",
             "pki crl /etc/railgauge/pki --days 30", kDaysFlags, write_crl, true},
        Verb{"pki", "show", "FOLDER", "what was issued, its state and end",
             "pki show /etc/railgauge/pki", kNoFlags, show_pki, true},
        Verb{"tokens", "", "", "enrolment tokens, by which nodes get certificates", "tokens",
             kNoFlags, list_tokens},
        Verb{"tokens", "create", "", "a token for railgauge-agent enroll; on the controller's host",
             "tokens create --nodes gpu[001-064] --expires 2h", kTokenFlags, create_token},
        Verb{"tokens", "revoke", "TOKEN", "a token, by its id, is good no more",
             "tokens revoke 1a2b3c4d", kNoFlags, revoke_token},
        Verb{"config", "check", "",
             "settings of this host's agent and controller with their sources; -o json too",
             "config check", kNoFlags, check_config, true},
        Verb{"metrics", "", "", "metrics that agents and controller export", "metrics --describe",
             kMetricsFlags, show_metrics, true},
        Verb{"console", "", "", "print a URL that opens the web console once", "console", kNoFlags,
             open_console},
        Verb{"mcp", "", "", "answer an assistant (MCP) on stdin and stdout: read-only tools", "mcp",
             kNoFlags, serve_assistant, false, true},
        Verb{"bundle", "", "RUN|FINDING|NODE", "support archive",
             "bundle 20261126-013000-8e02b7 --redact", kBundleFlags, make_bundle},
        Verb{"completion", "", "SHELL",
             "a script for bash, zsh or fish: source <(railgauge completion bash)",
             "completion bash", kNoFlags, print_completion, true, true},
        Verb{"status", "", "", "which controller is active, and how far the others are",
             "status --controller a:7443,b:7443", kNoFlags, show_status},
        Verb{"version", "", "", "this program's and the controller's version", "version", kNoFlags,
             show_version},
    });
// Seldom needed by people; scripts and experts use them.
constexpr auto kDatabaseVerbs = in_group(
    "The database, and figures for other programs",
    std::array{
        Verb{"export", "", "[RUN]",
             "points as csv, json or ndjson, however many; RUN may be \"all\"",
             "export all --since 7d --format csv", kExportFlags, export_points, false, true},
        Verb{"sql", "", "SELECT", "one SELECT over the database, in quotes",
             "sql \"$(cat question.sql)\"", kSqlFlags, run_sql, false, true},
        Verb{"db", "stats", "", "where the database's bytes are", "db stats --project 1000",
             kStatsFlags, database_stats},
        Verb{"db", "check", "", "whether the database is sound; reads all of it", "db check",
             kNoFlags, database_check},
        Verb{"db", "backup", "FILE", "online backup, into the controller's --backup-folder",
             "db backup railgauge.db", kNoFlags, database_backup},
        Verb{"db", "restore", "FILE", "restore (stop the controller first)",
             "db restore backups/railgauge.db", kRestoreFlags, database_restore},
        Verb{"db", "prune", "", "delete data older than the policy allows", "db prune --raw-days 7",
             kPruneFlags, database_prune},
    });
// Nothing of these touches a real node.
constexpr auto kModelVerbs = in_group(
    "A modelled site, to try things",
    std::array{
        Verb{"demo", "", "", "a modelled site on this host: history, a slow port, an upgrade",
             "demo --nodes 64", kDemoFlags, run_demo, true, true},
        Verb{"clock", "", "FILE [TIME]",
             "a simulated clock: show it, or move it, by date or 7d ahead", "clock site.clock 7d",
             kClockFlags, move_clock, true},
    });
constexpr auto kVerbs = joined(
    joined(joined(joined(joined(joined(kDayVerbs, kMeasureVerbs), kFiguresVerbs), kUpgradeVerbs),
                  kInstallationVerbs),
           kDatabaseVerbs),
    kModelVerbs);

// Spellings that were once right. None runs: whoever types one reads the new one.
constexpr std::array kOldSpellings{
    OldSpelling{"matrix", "", "runs matrix"},
    OldSpelling{"suspects", "", "runs suspects"},
    OldSpelling{"compare", "", "runs compare"},
    OldSpelling{"metrics describe", "", "metrics --describe"},
    OldSpelling{"baselines show", "", "baselines"},
    OldSpelling{"schedules pause", "", "schedules set SCHEDULE paused"},
    OldSpelling{"schedules resume", "", "schedules set SCHEDULE active"},
    OldSpelling{"schedules remove", "", "schedules set SCHEDULE removed"},
    OldSpelling{"preflight", "strict", "preflight --require all"},
    OldSpelling{"upgrades gate", "continue", "upgrades extend UPGRADE"},
    OldSpelling{"upgrades gate", "wait",
                "upgrades gate --wait-nodes DURATION, with --time-limit for all of it"},
    // A node set is an operand where it is what the verb is about, else --nodes.
    OldSpelling{"nodes", "nodes", "nodes NODESET"},
    OldSpelling{"nodes pause", "nodes", "nodes pause NODESET"},
    OldSpelling{"nodes resume", "nodes", "nodes resume NODESET"},
    OldSpelling{"run", "", "run SUITE --nodes NODESET", "SUITE NODESET"},
    OldSpelling{"suites plan", "", "suites plan SUITE --nodes NODESET", "SUITE NODESET"},
    OldSpelling{"schedules add", "", "schedules add NAME SUITE --nodes NODESET",
                "NAME SUITE NODESET"},
    OldSpelling{"upgrades prepare", "", "upgrades prepare --nodes NODESET", "NODESET"},
    OldSpelling{"upgrades gate", "", "upgrades gate --nodes NODESET", "NODESET"},
};

// Words of a fixed choice. Those of CHECK are the ids of agent/preflight/checks/table.cc, since no
// list of the controller has them without a look at each node; those of CALL are the methods of
// controller/rpc/rights.h. Tests compare both.
constexpr std::string_view kCheckIds =
    "peer_memory_client peer_memory_conflict gpudirect_registration peermem_build peermem_mode "
    "dmabuf_gpu dmabuf_nic acs iommu bar1_size pcie_link pcie_limited pcie_errors "
    "pcie_read_request relaxed_ordering gpu_nic_distance numa_locality port_state mtu gid lossless "
    "congestion_control port_errors nic_firmware versions gpu_ecc xid gpu_mode gpu_clocks nvlink "
    "locked_memory cgroup hugepages cpu_power rdma_device_nodes bar_copy_driver minimum_versions";
constexpr std::string_view kCalls =
    "Attach ListNodes ListNodeHeads ListKernels ListSuites CheckSuite PlanRun StartRun WatchRun "
    "CancelRun "
    "ListRuns GetRun QueryResults GetVersion GetInstallation RunPreflight ListSchedules "
    "AddSchedule PauseSchedule ResumeSchedule RemoveSchedule RunSchedule RenameNode "
    "PauseNodes ResumeNodes FindPoints ExportPoints ListSeries GetHistory CompareRuns RunSql "
    "GetTasks GetBundlePart GetSpace CheckDatabase BackUp Prune GetMatrix GetMatrixOverview "
    "GetMatrixBlock GetSuspects "
    "ListEvents GetTaskGroups ListAudit PrepareUpgrade GateUpgrade JudgeUpgrade ListUpgrades "
    "GetUpgrade ListFindings GetFinding StepFinding MeasureFinding PinBaselines ListBaselines "
    "GetCertificate OpenConsole CreateToken ListTokens RevokeToken GetRole Promise";
constexpr std::array kChoices{
    Choice{"FORMAT", "table text json csv ndjson md html"},
    Choice{"UNITS", "bits bytes both"},
    Choice{"SHELL", "bash zsh fish"},
    Choice{"POLICY", "skip queue replace", true},
    Choice{"TOOL", "nvbandwidth gdrcopy perftest nccl-tests"},
    Choice{"STATE",
           "new confirmed acknowledged investigating downstream accepted fixed rolled_back false "
           "reopened",
           true},
    Choice{"ROLE", "controller agent operator viewer"},
    Choice{"BETTER", "higher lower", true},
    Choice{"KIND", "host gpu"},
    Choice{"WHAT", "extend fail", true},
    Choice{"KINDS", api::kEventKinds},
    Choice{"CHECK", kCheckIds},
    Choice{"CHECKS", kCheckIds},
    Choice{"CALL", kCalls}};

}  // namespace

Grammar grammar() {
  return {.verbs = kVerbs, .common = common_flags(), .old = kOldSpellings, .choices = kChoices};
}

}  // namespace railgauge::cli
