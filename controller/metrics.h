// Every Prometheus name of the controller, in one place. Values are pushed here as they change; a
// scrape reads memory only. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace railgauge {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void run_ended(const std::string& suite, const std::string& trigger, const std::string& outcome,
                 double unix_seconds);
  void task_ended(const std::string& kernel, const std::string& outcome);
  void set_nodes(std::uint32_t attached, std::uint32_t detached, std::uint32_t lost);
  void set_run_active(bool active);
  void set_records_stored(std::uint64_t records);
  void set_store(double queued_records, double database_bytes);
  // Of records that fit no known run: how many are kept, how many had to go since the start.
  void set_orphans(double kept, double dropped);

  // The text exposition format; process_* are read from /proc here.
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace railgauge
