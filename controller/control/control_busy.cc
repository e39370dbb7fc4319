// Busy nodes and runs: who may begin there, and what is kept of a run that was forced.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/control/control.h"
#include "controller/run/give_way.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {
constexpr std::size_t kMostReasonBytes = 500;
}  // namespace

Status Control::admit_busy(const api::RunRequest& request, const std::vector<std::string>& nodes) {
  const std::string& reason = request.force_reason();
  if (request.force() && reason.find_first_not_of(" \t\n") == std::string::npos)
    return fail(Code::kInvalidArgument, "--force needs --reason TEXT, which is kept with the run");
  if (reason.size() > kMostReasonBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("--reason: {} bytes, at most {}", reason.size(), kMostReasonBytes));
  if (request.force()) return {};
  std::map<std::string, std::string> busy;
  const Nodes live = this->nodes();
  for (const std::string& name : nodes)
    if (const auto node = live.find(name); node != live.end())
      if (std::string words = fleet::busy_text(node->second); !words.empty())
        busy[name] = std::move(words);
  if (busy.empty()) return {};
  return fail(Code::kFailedPrecondition, run::busy_refusal(busy));
}

// Each point carries the reason as the fact "forced" too. A full store does not keep the run from
// starting: the fact travels with the results.
void Control::record_force(const api::RunRequest& request, const store::RunRow& row) {
  std::string on;
  const Nodes live = nodes();
  for (const std::string& name : row.nodes)
    if (const auto node = live.find(name); node != live.end())
      if (const std::string words = fleet::busy_text(node->second); !words.empty())
        on += fmt::format("{}{} ({})", on.empty() ? "" : ", ", name, words);
  const std::string text = fmt::format("forced{}{}: {}", on.empty() ? "" : " on busy nodes ", on,
                                       valid_utf8(request.force_reason()));
  spdlog::info("run {}: {} by {}", row.run_id, text, row.requested_by);
  store::EventRow event;
  event.kind = "run_forced";
  event.run_id = row.run_id;
  event.text = fmt::format("{}: {}", row.requested_by, text);
  const Status told = store_.add_event(std::move(event));
  const Status noted = store_.write(store::write_operator_note, {.at = row.created_at,
                                                                 .who = row.requested_by,
                                                                 .subject_kind = "run",
                                                                 .subject = row.run_id,
                                                                 .text = text});
  if (!told || !noted)
    spdlog::warn("run {}: that it was forced is not stored: {}", row.run_id,
                 told ? noted.error().message : told.error().message);
}

}  // namespace railgauge
