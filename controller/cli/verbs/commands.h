// The list of verbs: one function each, one file a noun (verbs/, bundle/). A verb reads its
// operands and flags, asks the controller, prints to `session.output` and returns the exit code. An
// error ends the program with one line on stderr (render/output.h). Verbs are called from one
// thread.
#pragma once

#include <string>

#include "controller/api/control.pb.h"
#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// All verbs with their operands, flags and help lines. Parser, help and completion read nothing
// else.
Grammar grammar();

// nodes, topo. Names and sets of nodes are those of the controller.
Result<int> list_nodes(Session& session, const Arguments& arguments);
Result<int> show_node(Session& session, const Arguments& arguments);
Result<int> diff_node_sets(Session& session, const Arguments& arguments);
Result<int> show_topology(Session& session, const Arguments& arguments);
// The nodes of `node_set` with facts and stacks, for nodes and topo. Errors: kNotFound when the
// controller knows none of the set; those of the call.
Result<api::NodeList> ask_nodes_with_facts(Session& session, const std::string& node_set);

// kernels, metrics, preflight, version, completion
Result<int> list_kernels(Session& session, const Arguments& arguments);
Result<int> show_kernel(Session& session, const Arguments& arguments);
Result<int> show_metrics(Session& session, const Arguments& arguments);
Result<int> show_preflight(Session& session, const Arguments& arguments);
Result<int> show_version(Session& session, const Arguments& arguments);
Result<int> print_completion(Session& session, const Arguments& arguments);

// suites, run, runs
Result<int> list_suites(Session& session, const Arguments& arguments);
Result<int> show_suite(Session& session, const Arguments& arguments);
Result<int> check_suite(Session& session, const Arguments& arguments);
Result<int> plan_suite(Session& session, const Arguments& arguments);
Result<int> run_suite(Session& session, const Arguments& arguments);
Result<int> list_runs(Session& session, const Arguments& arguments);
Result<int> show_run(Session& session, const Arguments& arguments);
Result<int> wait_run(Session& session, const Arguments& arguments);
Result<int> resume_run(Session& session, const Arguments& arguments);
Result<int> cancel_run_verb(Session& session, const Arguments& arguments);
Result<int> show_matrix(Session& session, const Arguments& arguments);
Result<int> show_suspects(Session& session, const Arguments& arguments);

// Stored points. analyze reads files and asks no controller.
Result<int> show_results(Session& session, const Arguments& arguments);
Result<int> show_history(Session& session, const Arguments& arguments);
Result<int> compare_runs(Session& session, const Arguments& arguments);
Result<int> export_points(Session& session, const Arguments& arguments);
Result<int> make_bundle(Session& session, const Arguments& arguments);
Result<int> analyze_files(Session& session, const Arguments& arguments);

// sql, db. Long calls: check, backup and prune may take minutes.
Result<int> run_sql(Session& session, const Arguments& arguments);
Result<int> database_stats(Session& session, const Arguments& arguments);
Result<int> database_check(Session& session, const Arguments& arguments);
Result<int> database_backup(Session& session, const Arguments& arguments);
Result<int> database_restore(Session& session, const Arguments& arguments);
Result<int> database_prune(Session& session, const Arguments& arguments);

// schedules. Each change prints the schedule as it is afterwards.
Result<int> list_schedules(Session& session, const Arguments& arguments);
Result<int> show_schedule(Session& session, const Arguments& arguments);
Result<int> add_schedule(Session& session, const Arguments& arguments);
Result<int> pause_schedule(Session& session, const Arguments& arguments);
Result<int> resume_schedule(Session& session, const Arguments& arguments);
Result<int> run_schedule_now(Session& session, const Arguments& arguments);
Result<int> remove_schedule(Session& session, const Arguments& arguments);

// upgrades. gate_upgrade returns 0 pass, 1 regressed, 3 inconclusive, 4 for every other end.
Result<int> prepare_upgrade(Session& session, const Arguments& arguments);
Result<int> gate_upgrade(Session& session, const Arguments& arguments);
Result<int> list_upgrades(Session& session, const Arguments& arguments);
Result<int> show_upgrade(Session& session, const Arguments& arguments);

// findings, baselines. Each step prints the finding as it is afterwards.
Result<int> list_findings(Session& session, const Arguments& arguments);
Result<int> show_finding(Session& session, const Arguments& arguments);
Result<int> acknowledge_finding(Session& session, const Arguments& arguments);
Result<int> accept_finding(Session& session, const Arguments& arguments);
Result<int> resolve_finding(Session& session, const Arguments& arguments);
Result<int> reopen_finding(Session& session, const Arguments& arguments);
Result<int> list_baselines(Session& session, const Arguments& arguments);
Result<int> pin_baselines(Session& session, const Arguments& arguments);
Result<int> diff_baselines(Session& session, const Arguments& arguments);

}  // namespace railgauge::cli
