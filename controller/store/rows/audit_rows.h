// The audit trail as plain values. Times are seconds since 1970 (UTC) by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::store {

// One row: the begin of a call, its outcome, a refused call, or an act of the controller itself.
struct AuditRow {
  double at = 0;
  std::int64_t call = 0;  // the same in the begin and the outcome of a call; 0: there is no pair
  std::string who{};
  std::string role{};
  std::string address{};
  std::string rpc{};
  std::string subject{};
  std::string outcome{};
  std::string reason{};
  bool refused = false;
  std::uint32_t count = 1;  // calls that the row is about
};

// The outcome of a call that is not known: under way, or the controller ended meanwhile.
inline constexpr std::string_view kBegun = "begun";

// Selects rows; "" and absent match any.
struct AuditFilter {
  std::optional<double> since{};
  std::string who{};
  std::string rpc{};  // "Control.StartRun" or "StartRun"
  bool refused = false;
  std::uint32_t limit = 0;
};

}  // namespace railgauge::store
