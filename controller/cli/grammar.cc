#include <array>

#include "controller/cli/commands.h"
#include "controller/cli/settings.h"

namespace railgauge::cli {
namespace {

constexpr Flag kNodes{"nodes", 0, "SET", "gpu[001-064],n7,!gpu013"};
constexpr Flag kNodesFile{"nodes-file", 0, "FILE", "a node set a line, # starts a comment"};
constexpr Flag kWait{"wait", 0, "DURATION", "stop waiting after this long, the run goes on [24h]"};

constexpr std::array kPlanFlags{kNodes, kNodesFile};
constexpr std::array kRunFlags{
    kNodes, kNodesFile, Flag{"all", 0, "", "all nodes, needed without a node set beyond 16 nodes"},
    Flag{"detach", 0, "", "print the run's id and end, the run goes on"}, kWait};
constexpr std::array kWaitFlags{kWait};
constexpr std::array kListNodesFlags{kNodes};
constexpr std::array kLimitRuns{Flag{"limit", 0, "N", "at most the N newest [20]"}};
constexpr std::array kShowRunFlags{
    Flag{"phases", 0, "", "also where each rank's time went: start, open, wait, ..."},
    Flag{"as", 0, "TOOL", "its command lines instead: nvbandwidth, gdrcopy or perftest"}};
constexpr std::array kResultsFlags{Flag{"kernel", 0, "NAME", "verbs.write_lat"},
                                   Flag{"metric", 0, "NAME", "latency_ns"}, kNodes,
                                   Flag{"size", 0, "BYTES", "message size: 8, 64KiB"},
                                   Flag{"limit", 0, "N", "at most N points [1000]"}};

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
    Verb{"version", "", "", "this program's and the controller's version", {}, show_version},
};

}  // namespace

Grammar grammar() { return {.verbs = kVerbs, .common = common_flags()}; }

}  // namespace railgauge::cli
