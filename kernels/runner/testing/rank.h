// One rank of a task as the child of an agent, for tests that act as agent and controller. For
// tests only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/runner/testing/process.h"

namespace railgauge::testing_process {

struct RankProcess {
  explicit RankProcess(std::vector<std::string> environment)
      : process({program("railgauge-runner")}, true, std::move(environment)) {}

  Process process;
  std::vector<Record> records;

  void start(TaskRequest task) {
    ToRunner message;
    task.set_spawned_monotonic_ns(monotonic_now_ns());
    *message.mutable_request() = std::move(task);
    process.tell(message);
  }
  // Returns the next message that is no record, and collects records; nullopt at the runner's end.
  std::optional<FromRunner> hear() {
    for (;;) {
      auto message = process.hear();
      if (!message || !message->has_record()) return message;
      records.push_back(message->record());
    }
  }
  [[nodiscard]] const Final& final() const { return records.back().final(); }
};

}  // namespace railgauge::testing_process
