// A controller that waits: follows the site in the archive, answers that it is not the active one,
// and takes the site over when the lease of the active one has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "controller/metric/registry.h"
#include "controller/standby/front.h"
#include "controller/standby/lease_keeper.h"
#include "controller/standby/vows.h"
#include "controller/standby/warm_file.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

struct StandbyOptions {
  LeaseKeeperOptions lease{};  // for the time after the takeover; its archive is followed before
  std::string database{};
  bool is_forced = false;  // takes an ended lease although its holder had not admitted this one
  FrontOptions front{};
};

// Reads the random id of the controller with this database, or makes one; beside the database.
Result<std::string> controller_id(const std::string& database);

// Not thread safe; the answers to its callers are.
class Standby {
 public:
  // Opens database and ports. Errors are one line that names the setting at fault.
  static Result<std::unique_ptr<Standby>> open(StandbyOptions options);

  // Waits until this controller is to act, or `is_over`, which is looked at several times a second.
  // Returns the lease, which is renewed from then on; nullptr: it is over. The database is closed,
  // and is that of the site. kFailedPrecondition: it never can be.
  Result<std::unique_ptr<LeaseKeeper>> wait(const std::function<bool()>& is_over);
  // Whether another controller was active before.
  [[nodiscard]] bool has_taken_over() const { return has_taken_over_; }

 private:
  Standby(StandbyOptions options, WarmFile file);
  // One look at the archive; a keeper: this controller is to act.
  Result<std::unique_ptr<LeaseKeeper>> step(const std::function<bool()>& is_over);
  Status connect();
  // Waits with a schema of another version, or makes it where there is none.
  Status check_schema();
  // Brings the copy on, where it is one; true: it is whole.
  Result<bool> follow(Kinship kinship, const std::function<bool()>& is_over);
  // Whether the lease is over by the server's clock and by this controller's own.
  [[nodiscard]] bool has_ended(const mirror::LeaseRow& lease) const;
  Result<std::unique_ptr<LeaseKeeper>> take(Kinship kinship, const mirror::LeaseWish& wish,
                                            const std::function<bool()>& is_over);
  // The answer to the active controller while the archive is away; on gRPC's threads.
  api::PromiseAnswer promise(const api::PromiseRequest& request);
  void show(const std::optional<mirror::LeaseRow>& lease, std::string detail);
  void report(const Error& error);
  [[nodiscard]] std::string sentence();
  [[nodiscard]] api::ControllerRole role();
  [[nodiscard]] std::string metrics();

  const StandbyOptions options_;
  WarmFile file_;
  Vows vows_;
  mirror::LeaseWatch watch_{};
  std::unique_ptr<pq::Connection> archive_{};
  double even_at_;  // boot seconds at which the copy had all
  bool has_taken_over_ = false;
  bool is_forced_;         // until it has seen that another controller is alive
  bool is_fatal_ = false;  // the last error will not pass
  std::atomic<bool> is_told_of_length_ = false;  // the log says whose lease_seconds differ
  std::string reported_{};                       // error of the archive that was logged
  std::mutex mutex_;                             // guards the next
  api::ControllerRole shown_{};
  double shown_even_at_ = 0;
  std::unique_ptr<Front> front_;  // last: asks all above
};

}  // namespace railgauge::standby
