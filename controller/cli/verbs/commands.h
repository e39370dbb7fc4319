// The list of verbs: one function each, one file a noun (verbs/, bundle/). A verb reads its
// operands and flags, asks the controller, prints to `session.output` and returns the exit code. An
// error ends the program with one line on stderr (render/output.h). Verbs are called from one
// thread.
#pragma once

#include <string>
#include <string_view>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "controller/cli/input/arguments.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// All verbs with their operands, flags and help lines. Parser, help and completion read nothing
// else.
Grammar grammar();

// A verb: reads its operands and flags, returns the exit code.
using Command = Result<int>(Session& session, const Arguments& arguments);

// nodes, topo. Names and sets of nodes are those of the controller.
Command list_nodes, show_node, diff_node_sets, rename_node, pause_nodes, resume_nodes,
    show_topology;
// The nodes of `node_set` with facts and stacks, for nodes and topo. Errors: kNotFound when the
// controller knows none of the set; those of the call.
Result<api::NodeList> ask_nodes_with_facts(Session& session, const std::string& node_set);

// kernels, metrics, preflight, version, completion
Command list_kernels, show_kernel, show_metrics, show_preflight, show_version, show_status,
    print_completion, open_console;

// suites, run, runs
Command list_suites, show_suite, check_suite, plan_suite, run_suite, list_runs, show_run, wait_run,
    resume_run, cancel_run_verb, show_matrix, show_suspects;

// Stored points. analyze reads files and asks no controller.
Command show_results, show_history, compare_runs, export_points, make_bundle, analyze_files;

// Pages that are printed for the controller's answers and for those of an archive alike.
// Prints a table of any columns in the format that was asked for; `name` is the key of its rows in
// JSON. Returns the exit code.
int print_sql_table(const Output& output, const api::SqlTable& table, std::string_view name);
// Prints a pair matrix as heat map, rows or --svg. kDataLoss: its size is not that of its nodes.
Result<int> print_matrix(const Output& output, const Arguments& arguments,
                         const api::PairMatrix& matrix);

// sql, db. Long calls: check, backup and prune may take minutes.
Command run_sql, database_stats, database_check, database_backup, database_restore, database_prune;

// The site as a whole (site/): what happened, the report, the installation's health.
Command list_events, show_report, show_doctor;

// Certificates. verify_certificate asks no controller: 0 sound, 1 changed or of another key.
Command show_certificate, verify_certificate;

// audit: who changed what, and which calls were refused.
Command list_audit;

// schedules. Each change prints the schedule as it is afterwards.
Command list_schedules, show_schedule, add_schedule, set_schedule, run_schedule_now;

// upgrades. gate_upgrade and extend_upgrade return 0 pass, 1 regressed, 3 inconclusive, 4 for every
// other end.
Command prepare_upgrade, gate_upgrade, extend_upgrade, list_upgrades, show_upgrade;

// prove: 0 proved, 1 not proved, 3 inconclusive, 4 for every other end.
Command prove_nodes;

// pki: an authority in a folder of this host; asks no controller.
Command init_pki, issue_certificates, renew_certificates, revoke_certificates, write_crl, show_pki;

// tokens: by which nodes get certificates. Ctrl-C does not end a change.
Command list_tokens, create_token, revoke_token;

// mcp: answers an assistant's program until stdin ends. Reads and changes nothing.
Command serve_assistant;

// demo: starts a controller and a modelled fleet of its own; asks no other controller.
Command run_demo;

// clock: a simulated clock by its file; asks no controller.
Command move_clock;

// config: the settings of this host's agent and controller; asks no controller.
Command check_config;

// findings, baselines. Each step prints the finding as it is afterwards.
Command list_findings, show_finding, acknowledge_finding, accept_finding, resolve_finding,
    reopen_finding, assign_finding, nudge_finding, investigate_finding, downstream_finding,
    reset_finding, tag_finding, note_finding, rerun_finding, list_baselines, pin_baselines,
    diff_baselines;

}  // namespace railgauge::cli
