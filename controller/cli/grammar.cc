#include <array>

#include "controller/cli/archive_commands.h"
#include "controller/cli/commands.h"
#include "controller/cli/settings.h"

namespace railgauge::cli {
namespace {

constexpr Flag kNodes{"nodes", 0, "SET", "gpu[001-064],n7,!gpu013"};
constexpr Flag kNodesFile{"nodes-file", 0, "FILE", "a node set a line, # starts a comment"};
constexpr Flag kWait{"wait", 0, "DURATION", "stop waiting after this long, the run goes on [24h]"};

constexpr Flag kEndpoint{"endpoint", 0, "NAME", "mlx5_0:1 or gpu0, as named now or ever"};
constexpr Flag kRail{"rail", 0, "N", "points that have an endpoint of this rail, from 0"};
constexpr Flag kStack{"stack", 0, "KEY=VALUE", "gpu_driver=550.54, when it was measured"};
constexpr Flag kSeries{"series", 0, "N", "one series, as railgauge history numbers it"};
constexpr Flag kSince{"since", 0, "TIME", "24h (ago), 2026-11-20 or 2026-11-20T12:00:00Z"};
constexpr Flag kUntil{"until", 0, "TIME", "before this time, likewise"};
constexpr Flag kAllAttempts{"all-attempts", 0, "", "also attempts that do not count"};

constexpr std::array kPlanFlags{kNodes, kNodesFile};
constexpr std::array kRunFlags{
    kNodes, kNodesFile, Flag{"all", 0, "", "all nodes, needed without a node set beyond 16 nodes"},
    Flag{"detach", 0, "", "print the run's id and end, the run goes on"}, kWait};
constexpr std::array kWaitFlags{kWait};
constexpr std::array kListNodesFlags{kNodes};
constexpr std::array kLimitRuns{Flag{"limit", 0, "N", "at most the N newest [20]"}};
constexpr std::array kShowRunFlags{
    Flag{"phases", 0, "", "also where each rank's time went: start, open, wait, ..."},
    Flag{"as", 0, "TOOL", "its command lines: nvbandwidth, gdrcopy, perftest, nccl-tests"}};
constexpr std::array kResultsFlags{Flag{"kernel", 0, "NAME", "verbs.write_lat"},
                                   Flag{"metric", 0, "NAME", "latency_ns"},
                                   kNodes,
                                   Flag{"size", 0, "BYTES", "message size: 8, 64KiB"},
                                   kEndpoint,
                                   kRail,
                                   kStack,
                                   kSeries,
                                   kSince,
                                   kUntil,
                                   kAllAttempts,
                                   Flag{"limit", 0, "N", "at most N points [1000]"}};
constexpr std::array kExportFlags{Flag{"kernel", 0, "NAME", "verbs.write_lat"},
                                  Flag{"metric", 0, "NAME", "latency_ns"},
                                  kNodes,
                                  Flag{"size", 0, "BYTES", "message size: 8, 64KiB"},
                                  kEndpoint,
                                  kRail,
                                  kStack,
                                  kSeries,
                                  kSince,
                                  kUntil,
                                  kAllAttempts,
                                  Flag{"limit", 0, "N", "at most N points [all]"}};
constexpr std::array kHistoryFlags{
    Flag{"kernel", 0, "NAME", "of the list without SERIES"},
    Flag{"metric", 0, "NAME", "likewise"},
    kNodes,
    Flag{"size", 0, "BYTES", "likewise"},
    kEndpoint,
    kRail,
    kSince,
    Flag{"limit", 0, "N", "the newest N points, or N series [1000]"}};
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
constexpr std::array kAnalyzeFlags{
    Flag{"direction", 0, "BETTER", "higher or lower: which values are better"}};
constexpr std::array kRestoreFlags{
    Flag{"database", 0, "FILE", "the controller's [/var/lib/railgauge/railgauge.db]"}};

constexpr std::array kVerbs{
    Verb{"nodes", "", "", "the nodes that the controller knows", kListNodesFlags, list_nodes},
    Verb{"nodes", "show", "NODE", "one node: its NICs, GPUs and facts", {}, show_node},
    Verb{"kernels", "", "", "the measurement programs that the nodes have", {}, list_kernels},
    Verb{"kernels", "show", "KERNEL", "one kernel: parameters, ranges, defaults", {}, show_kernel},
    Verb{"suites", "", "", "the suites in the controller's folder", {}, list_suites},
    Verb{"suites", "show", "SUITE", "one suite", {}, show_suite},
    Verb{"suites", "check", "FILE", "check a suite file (or a name), run nothing", {}, check_suite},
    Verb{"suites", "plan", "SUITE [NODESET]", "what a run would do, run nothing", kPlanFlags,
         plan_suite},
    Verb{"run", "", "SUITE [NODESET]", "run a suite (name or file.yaml), wait, print the results",
         kRunFlags, run_suite},
    Verb{"runs", "", "", "the newest runs", kLimitRuns, list_runs},
    Verb{"runs", "show", "RUN", "one run: its tasks and their outcomes", kShowRunFlags, show_run},
    Verb{"runs", "wait", "RUN", "wait for a run, print its results, end with its outcome",
         kWaitFlags, wait_run},
    Verb{"runs", "cancel", "RUN", "cancel a run and wait until it has ended", {}, cancel_run_verb},
    Verb{"results", "", "[RUN]", "points of a run [the newest that ended]; RUN may be \"all\"",
         kResultsFlags, show_results},
    Verb{"history", "", "[SERIES]", "a series over time; without one the series that there are",
         kHistoryFlags, show_history},
    Verb{"runs", "compare", "A B", "two runs, series by series", {}, compare_runs},
    Verb{"export", "", "[RUN]", "points as csv, json or ndjson, however many; RUN may be \"all\"",
         kExportFlags, export_points},
    Verb{"bundle", "", "RUN|FINDING|NODE", "all about it in one archive, to be handed on",
         kBundleFlags, make_bundle},
    Verb{"sql", "", "SELECT", "one SELECT over the database, in quotes", kSqlFlags, run_sql},
    Verb{"db", "stats", "", "where the database's bytes are", kStatsFlags, database_stats},
    Verb{"db", "check", "", "whether the database is sound; reads all of it", {}, database_check},
    Verb{"db",
         "backup",
         "FILE",
         "a copy on the controller's host, while it goes on",
         {},
         database_backup},
    Verb{"db", "restore", "FILE", "put a backup in place; on the controller's host, stopped",
         kRestoreFlags, database_restore},
    Verb{"db", "prune", "", "take away what is older than the policy says", kPruneFlags,
         database_prune},
    Verb{"analyze", "", "FILE...",
         "what changed in series from outside: csv of time,value or value", kAnalyzeFlags,
         analyze_files},
    Verb{"version", "", "", "this program's and the controller's version", {}, show_version},
};

}  // namespace

Grammar grammar() { return {.verbs = kVerbs, .common = common_flags()}; }

}  // namespace railgauge::cli
