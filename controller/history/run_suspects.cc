#include "controller/history/run_suspects.h"

#include <utility>

#include "controller/history/gpu_pairs.h"

namespace railgauge {

namespace {

Result<RunSuspects> suspects_of(store::Store& store, PairFigures figures,
                                const LeafSource& leaves) {
  RunSuspects out{.figures = std::move(figures)};
  const localise::PairData& data = out.figures.data;
  out.found = RG_TRY(localise::find_suspects(data));
  // A task between two GPUs is not known as a follow-up is.
  if (data.ends == localise::Ends::kGpus) return out;
  out.wanted = localise::follow_ups(data, out.found);
  if (out.wanted.empty()) return out;
  const std::vector<FollowUpPoint> points = RG_TRY(read_follow_ups(store, out.figures, leaves));
  if (points.empty()) return out;
  const auto name = [&](std::int32_t node) { return data.nodes[static_cast<std::size_t>(node)]; };
  std::vector<localise::FollowUpResult> results;
  for (const localise::FollowUp& each : out.wanted) {
    const bool other_gpu = each.purpose == localise::Purpose::kOtherGpu;
    localise::FollowUpResult& result = results.emplace_back();
    result.asked = each;
    for (const FollowUpPoint& point : points)
      if (point.from == name(each.from) && point.to == name(each.to) && point.rail == each.rail &&
          point.memory == each.memory &&
          other_gpu == (point.purpose == localise::purpose_word(localise::Purpose::kOtherGpu)))
        result.value = point.value;
  }
  out.retests = localise::judge_follow_ups(data, out.found, results);
  return out;
}

}  // namespace

Result<RunSuspects> read_suspects(store::Store& store, const api::PairsRequest& request,
                                  const LeafSource& leaves) {
  return suspects_of(store, RG_TRY(read_pair_figures(store, request, leaves)), leaves);
}

Result<RunSuspects> read_shown_suspects(store::Store& store, const api::PairsRequest& request,
                                        const LeafSource& leaves) {
  return suspects_of(store, RG_TRY(read_shown_figures(store, request, leaves)), leaves);
}

}  // namespace railgauge
