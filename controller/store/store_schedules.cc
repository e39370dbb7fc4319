// Store's functions about schedules.
#include <utility>

#include "controller/store/queries/schedules.h"
#include "controller/store/store_impl.h"

namespace railgauge::store {

Status Store::add_schedule(ScheduleRow schedule) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(schedule)] { return write_schedule(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::set_schedule_paused(std::string name, bool paused) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(name), paused] {
        return write_schedule_paused(impl_->connection, moved, paused, impl_->now());
      },
      impl_->options.wait_seconds);
}

Status Store::remove_schedule(std::string name) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(name)] { return store::remove_schedule(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::decide_due(std::string schedule, DueRow due) {
  return impl_->writer.submit_and_wait(
      [this, name = std::move(schedule), moved = std::move(due)] {
        return write_due(impl_->connection, name, moved, impl_->now());
      },
      impl_->options.wait_seconds);
}

Status Store::say_of_started(std::string schedule, DueRow due) {
  return impl_->writer.submit_and_wait(
      [this, name = std::move(schedule), moved = std::move(due)] {
        return write_started_due(impl_->connection, name, moved);
      },
      impl_->options.wait_seconds);
}

Result<std::vector<ScheduleRow>> Store::list_schedules() const {
  return impl_->readers.run(
      [now = impl_->now()](Connection& reader) { return read_schedules(reader, now); });
}

Result<std::vector<DueRow>> Store::list_dues(std::string_view schedule, std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_dues(reader, schedule, limit); });
}

Result<std::vector<BrokenOffRow>> Store::broken_off(double since) const {
  return impl_->readers.run([&](Connection& reader) { return read_broken_off(reader, since); });
}

}  // namespace railgauge::store
