// Tags each payload as a value or an error, so that an error travels in the step that its rank
// would have taken.
#include "kernels/runner/error_reporting_group.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr char kValue = 'v';        // then the payload
constexpr char kError = 'e';        // then "CODE MESSAGE"
constexpr double kTellSeconds = 1;  // the limit of reporting an error
constexpr std::size_t kMaxToldBytes = 1024;

// Encodes an error, cut at kMaxToldBytes so that it fits into one step.
std::string told(const Error& error) {
  return kError + error_text({error.code, error.message.substr(0, kMaxToldBytes)});
}

// The other rank's error with its rank in front; kDataLoss for a payload of another program.
Error heard(std::uint32_t rank, std::string_view text) {
  const auto error = text.starts_with(kError) ? error_in(text.substr(1)) : std::nullopt;
  if (error) return {error->code, fmt::format("rank {}: {}", rank, error->message)};
  return {Code::kDataLoss, fmt::format("rank {}: sent no message of this runner", rank)};
}

}  // namespace

// An error of any rank ends the group, since the ranks are no longer at the same step.
Result<std::vector<std::string>> ErrorReportingGroup::pass(std::string tagged,
                                                           double timeout_seconds) {
  if (broken_) return fail(Code::kUnavailable, "the group has ended");
  auto all = inner_.exchange(std::move(tagged), timeout_seconds);
  broken_ = !all;
  if (!all) return all;
  for (std::uint32_t i = 0; i < all->size(); ++i) {
    std::string& payload = (*all)[i];
    if (i == rank() || payload.starts_with(kValue)) {
      payload.erase(0, 1);
      continue;
    }
    broken_ = heard_error_ = true;
    return tl::unexpected(heard(i, payload));
  }
  return all;
}

Result<std::vector<std::string>> ErrorReportingGroup::exchange(std::string mine,
                                                               double timeout_seconds) {
  return pass(kValue + std::move(mine), timeout_seconds);
}

// A rank with an error waits at most kTellSeconds for the others, whose errors are added to its
// own.
Status ErrorReportingGroup::agree(const Status& mine, double timeout_seconds) {
  if (mine) {
    RG_TRY_OK(pass({kValue}, timeout_seconds));
    return {};
  }
  // The others have gone already.
  if (broken_) return mine;
  const auto theirs = pass(told(mine.error()), std::min(timeout_seconds, kTellSeconds));
  broken_ = true;
  if (!heard_error_) return mine;
  Error both = mine.error();  // the cause may be the other's
  both.message += "; " + theirs.error().message;
  return tl::unexpected(both);
}

}  // namespace railgauge
