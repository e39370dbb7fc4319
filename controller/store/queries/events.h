// Reads what happened, for people: events, and how the tasks of a run ended. Inside a snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/states.h"
#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Selects events; "", empty and absent match any.
struct EventFilter {
  std::optional<double> since{};
  std::vector<std::string> kinds{};  // a kind, or one or more of its words: "watch_xid", "xid"
  std::vector<std::string> nodes{};  // by any name that a node has or had
  std::string run_id{};
  std::optional<std::int64_t> after{};  // ids above this one, oldest first; else newest first
  std::uint32_t limit = 0;
};
struct StoredEvent {
  std::int64_t id = 0;
  std::string node{};  // present name; "" where it concerns none, or a stranger
  EventRow event{};
};
// Gives an event of a node's watch the present word for its severity, where an earlier program
// stored it.
void renew_severity(EventRow& event);
// The statement of find_events(), for tests of its plan.
std::string sql_of_events(const EventFilter& filter);
Result<std::vector<StoredEvent>> find_events(Connection& connection, const EventFilter& filter);
// Returns the kinds that are stored, in order.
Result<std::vector<std::string>> read_event_kinds(Connection& connection);
// The kinds of events that say which nodes a run was to have and has not.
inline constexpr std::string_view kAbsentKind = "nodes_absent";
inline constexpr std::string_view kBusyKind = "nodes_busy";
inline constexpr std::string_view kPausedNodesKind = "nodes_paused";
inline constexpr std::string_view kRefusedKind = "nodes_refused";
// Returns the texts of these events of a run.
Result<std::vector<std::string>> read_left_out(Connection& connection, const std::string& run_id);
// Returns the id of the newest event; 0: there is none.
Result<std::int64_t> newest_event(Connection& connection);

// A task's end, or tasks that passed, or tasks whose rounds did not begin: these have no id.
struct TaskEnd {
  std::uint32_t stage = 0;
  std::string kernel{};
  TaskState state = TaskState::kWaiting;
  std::string outcome{};
  std::string reason{};
  std::string task_id{};
  std::vector<std::string> endpoints{};  // "node/DEV:PORT"; none of tasks that passed
  std::int64_t tasks = 1;
};
// Returns the ends of a run's tasks by stage, those that passed as one row for each stage and
// kernel. kNotFound: no such run.
Result<std::vector<TaskEnd>> read_task_ends(Connection& connection, const std::string& run_id);
// Returns how many tasks of the run passed in which all these nodes had a rank. kNotFound: no such
// run.
Result<std::int64_t> count_passed_tasks(Connection& connection, const std::string& run_id,
                                        const std::vector<std::string>& nodes);
// Returns the id of the newest run that has ended; "": there is none.
Result<std::string> newest_ended_run(Connection& connection);

}  // namespace railgauge::store
