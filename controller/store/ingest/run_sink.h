// Writes nodes, runs, tasks and their states inside the writer's transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/ingest/interner.h"
#include "controller/store/ingest/node_changes.h"
#include "controller/store/rows/rows.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// The sink of states. Used on the writer thread only. `now` is the controller's time in unix
// seconds.
class RunSink {
 public:
  RunSink(Connection& connection, Interner& interner)
      : connection_(connection), interner_(interner) {}

  Status put_node(const NodeRow& node, double now);
  // Sets the time at which the node was last seen. Without effect for an unknown node.
  Status note_seen(const std::string& node_id, double now);
  // Inserts a run with its tasks, and those that have no row yet. kAlreadyExists: the id is taken.
  Status create_run(const RunRow& run, std::span<const TaskRow> tasks,
                    std::span<const TaskRestRow> rest, double now);
  // Inserts the tasks of a round that begins, and takes them from the rest of the stage.
  // kNotFound: no such run. kAlreadyExists: the run has one of the ids.
  Status begin_round(const std::string& run_id, std::uint32_t stage, const TaskRows& tasks,
                     double now);
  // Takes so many tasks from the rest of the stage whose rounds may begin: they end like this.
  // kNotFound: no such run.
  Status end_rest(const std::string& run_id, const TaskRestRow& rest);
  // Adds tasks to a run. kNotFound: no such run. kAlreadyExists: the run has one of the ids.
  Status add_tasks(const std::string& run_id, std::span<const TaskRow> tasks, double now);
  // Change a run or a task. kNotFound: no such run or task. True: update_task() opened an attempt,
  // whose records are taken from then on.
  Status update_run(const RunUpdate& update);
  Result<bool> update_task(const TaskUpdate& update, double now);
  // Gives the node another name, which its certificate has to have from then on. kNotFound: no node
  // has the id and the old name. kAlreadyExists: another node has the new name.
  Status rename_node(const NodeBond& node, const std::string& name, double now);
  // Ends open runs as Store::end_interrupted_runs() describes, and appends their ids to `ended`.
  Status end_interrupted(double now, std::vector<std::string>& ended);

 private:
  // Whether a change of what the node reports may be stored; an event says that it may not, once.
  Result<bool> may_change(NodeChanges& changes, std::string_view subject, std::int64_t content,
                          const NodeRow& node, double now);
  Status put_described(std::int64_t id, const NodeRow& node, double now);
  // The node's devices and stack. `now`: the time at which it was seen, by seen_at() of `at`.
  Status put_parts(std::int64_t id, const NodeRow& node, double at, double now);
  Status put_epoch(std::int64_t id, const NodeRow& node, const std::string& replaced, double now);
  Result<std::int64_t> stack(const StackParts& parts);
  Result<std::optional<std::int64_t>> present_stack(std::int64_t node, StackParts& parts);
  Result<double> seen_at(const NodeRow& node, double now);
  Result<std::optional<std::int64_t>> metric_list(const TaskRow& task);
  Status put_stage_time(const std::string& run_id, const StageTimeRow& time);
  Result<std::string> seen_before(std::int64_t node, std::int64_t stack);
  Result<std::int64_t> id_of(const std::string& run_id, std::string_view act);
  Status take_rest(std::int64_t run, std::uint32_t stage, std::uint64_t tasks);
  Status put_rest(std::int64_t run, const TaskRestRow& rest);
  Status insert_task(std::int64_t run, const TaskRow& task, double now);
  Status insert_rank(std::int64_t task, std::size_t number, const RankRow& rank, double now);

  Connection& connection_;
  Interner& interner_;
  NodeChanges described_;
  NodeChanges parts_;
};

}  // namespace railgauge::store
