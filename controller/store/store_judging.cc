// Store's functions about upgrades, their sides, and baselines.
#include <utility>

#include "controller/store/queries/queries.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/store_impl.h"

namespace railgauge::store {

Status Store::add_upgrade(UpgradeRow upgrade) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(upgrade)] { return write_upgrade(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::add_upgrade_after(std::string upgrade_id, std::string run_id, bool anew) {
  return impl_->writer.submit_and_wait(
      [this, id = std::move(upgrade_id), run = std::move(run_id), anew] {
        return write_upgrade_after(impl_->connection, id, run, anew);
      },
      impl_->options.wait_seconds);
}

Status Store::judge_upgrade(UpgradeRow judged) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(judged)] { return write_upgrade_verdict(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::put_baselines(std::vector<BaselineRow> baselines) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(baselines)]() -> Status {
        for (const BaselineRow& row : moved) {
          const Status written = write_baseline(impl_->connection, row);
          const bool left_out =
              moved.size() > 1 && !written && written.error().code == Code::kNotFound;
          if (!written && !left_out) return written;
        }
        return {};
      },
      impl_->options.wait_seconds);
}

Result<std::vector<UpgradeRow>> Store::list_upgrades(std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_upgrades(reader, limit); });
}

Result<UpgradeRow> Store::upgrade(std::string_view upgrade_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_upgrade(reader, upgrade_id); });
}

Result<std::vector<EpochRow>> Store::epochs(std::string_view node_id, std::uint32_t limit) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_epochs(reader, node_id, limit); });
}

Result<std::vector<EndpointStateRow>> Store::endpoint_states(
    const std::vector<std::string>& node_ids) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_endpoint_states(reader, node_ids); });
}

Result<std::vector<std::string>> Store::runs_of_nodes(const std::vector<std::string>& node_ids,
                                                      double from, double until,
                                                      std::uint32_t limit) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_runs_of_nodes(reader, node_ids, from, until, limit); });
}

Result<std::vector<SidePointRow>> Store::side_points(
    const std::vector<std::string>& run_ids, const std::vector<std::string>& node_ids) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_side_points(reader, run_ids, node_ids); });
}

Result<std::vector<SideTaskRow>> Store::side_tasks(const std::vector<std::string>& run_ids,
                                                   const std::vector<std::string>& node_ids) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_side_tasks(reader, run_ids, node_ids); });
}

Result<StackParts> Store::stack_parts(std::int64_t stack) const {
  return impl_->readers.run([&](Connection& reader) { return read_stack_parts(reader, stack); });
}

Result<std::string> Store::suite_text(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_suite_text(reader, run_id); });
}

Result<SeriesRow> Store::series(std::int64_t id) const {
  return impl_->readers.run([&](Connection& reader) { return read_one_series(reader, id); });
}

Result<std::vector<BaselineRow>> Store::list_baselines(std::string_view kind) const {
  return impl_->readers.run([&](Connection& reader) { return read_baselines(reader, kind); });
}

}  // namespace railgauge::store
