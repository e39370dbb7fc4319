#include "controller/cli/nccl_settings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/figures.h"
#include "controller/cli/table.h"
#include "kernels/core/nccl_tests_profile.h"
#include "kernels/core/outcome.h"
#include "kernels/core/units.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;

constexpr double kLatencyUpToBytes = 1U << 20U;  // where kernels/nccl tells none any more
constexpr const char* kEnvironment = "environment";

// What a figure is, but for NCCL's settings.
using Key = std::tuple<std::string, std::string, std::uint32_t, std::vector<std::string>,
                       std::string, double, Parameters>;

bool is_setting(const std::string& parameter) {
  return parameter == kEnvironment ||
         std::ranges::any_of(nccl_settings(), [&](const NcclSetting& setting) {
           return setting.parameter == parameter;
         });
}

Key key_of(const ResultPoint& point) {
  Parameters others = telling_parameters(point, kEnvironment);
  std::erase_if(others, [](const auto& parameter) { return is_setting(parameter.first); });
  return {point.run_id(),
          point.kernel(),
          point.revision(),
          {point.endpoints().begin(), point.endpoints().end()},
          point.point().metric(),
          point.point().message_bytes(),
          others};
}

// "NCCL_ALGO=Ring NCCL_PROTO=Simple".
std::string settings_of(const ResultPoint& point) {
  const std::map<std::string, std::string> parameters(point.parameters().begin(),
                                                      point.parameters().end());
  std::string out;
  const auto environment = parameters.find(kEnvironment);
  if (environment != parameters.end() && environment->second == "clean") out = "clean";
  for (const auto& [variable, value] : nccl_environment(parameters))
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", variable, value);
  return out.empty() ? "as the site has it" : out;
}

// One figure a size: the others are of the same times.
bool is_ranked(const ResultPoint& point) {
  if (!point.kernel().starts_with("nccl.") || point.outcome() != kPassed) return false;
  const Point& value = point.point();
  if (value.meaning() != "completion") return false;
  if (value.message_bytes() <= kLatencyUpToBytes) return value.metric() == "latency_ns";
  return value.metric() ==
         (point.endpoints_size() > 1 ? "busbw_bytes_per_second" : "algbw_bytes_per_second");
}

std::string choice_of(const Point& point) {
  std::string out;
  for (const char* name : {"algorithm", "protocol"})
    if (const auto fact = point.facts().find(name); fact != point.facts().end())
      out += (out.empty() ? "" : " ") + fact->second;
  return out;
}

// All that was measured with one setting.
struct Measured {
  std::vector<double> medians;
  std::vector<double> lows;  // as many as medians, or the interval is not known
  std::vector<double> highs;
  std::string choice;
};

struct Contest {
  const ResultPoint* first = nullptr;
  Parameters others;
  std::vector<std::string> settings{};  // in the points' order
  std::map<std::string, Measured> measured{};
};

NcclSettingRank entry_of(const Contest& contest, const std::string& settings) {
  const ResultPoint& point = *contest.first;
  const Measured& measured = contest.measured.at(settings);
  NcclSettingRank out;
  out.set_run_id(point.run_id());
  out.set_kernel(point.kernel());
  *out.mutable_endpoints() = point.endpoints();
  out.set_metric(point.point().metric());
  out.set_message_bytes(point.point().message_bytes());
  for (const auto& [name, value] : contest.others) (*out.mutable_parameters())[name] = value;
  out.set_settings(settings);
  out.set_choice(measured.choice);
  out.set_unit(point.point().unit());
  out.set_median(median_of(measured.medians));
  if (measured.lows.size() == measured.medians.size()) {
    out.set_median_low(*std::ranges::min_element(measured.lows));
    out.set_median_high(*std::ranges::max_element(measured.highs));
  }
  return out;
}

// Whether all of `better` is on the good side of all of `worse`; without an interval a figure is
// apart from none.
bool is_apart(const NcclSettingRank& better, const NcclSettingRank& worse, bool larger_is_better) {
  if (!better.has_median_low() || !worse.has_median_low()) return false;
  return larger_is_better ? better.median_low() > worse.median_high()
                          : better.median_high() < worse.median_low();
}

void add_ranks(const Contest& contest, std::vector<NcclSettingRank>& out) {
  if (contest.settings.size() < 2) return;
  const bool larger = contest.first->point().larger_is_better();
  std::vector<NcclSettingRank> entries;
  for (const std::string& settings : contest.settings)
    entries.push_back(entry_of(contest, settings));
  std::ranges::stable_sort(entries, [&](const NcclSettingRank& a, const NcclSettingRank& b) {
    return larger ? a.median() > b.median() : a.median() < b.median();
  });
  const double best = entries.front().median();
  for (NcclSettingRank& entry : entries) {
    const auto apart = std::ranges::count_if(
        entries, [&](const NcclSettingRank& other) { return is_apart(other, entry, larger); });
    entry.set_rank(static_cast<std::uint32_t>(apart) + 1);
    if (best > 0) entry.set_of_best(entry.median() / best);
  }
  for (NcclSettingRank& entry : entries) out.push_back(std::move(entry));
}

}  // namespace

std::vector<NcclSettingRank> nccl_setting_ranks(
    const google::protobuf::RepeatedPtrField<ResultPoint>& points) {
  std::vector<Contest> all;
  std::map<Key, std::size_t> places;
  for (const ResultPoint& point : points) {
    if (!is_ranked(point)) continue;
    Key key = key_of(point);
    const auto [place, is_new] = places.try_emplace(key, all.size());
    if (is_new) all.push_back({.first = &point, .others = std::get<6>(key)});
    Contest& contest = all[place->second];
    const std::string settings = settings_of(point);
    const auto [measured, is_first] = contest.measured.try_emplace(settings);
    if (is_first) contest.settings.push_back(settings);
    const Point& value = point.point();
    measured->second.medians.push_back(value.median());
    if (value.has_median_low() && value.has_median_high()) {
      measured->second.lows.push_back(value.median_low());
      measured->second.highs.push_back(value.median_high());
    }
    if (measured->second.choice.empty()) measured->second.choice = choice_of(value);
  }
  std::vector<NcclSettingRank> out;
  for (const Contest& contest : all) add_ranks(contest, out);
  return out;
}

std::string nccl_settings_table(const google::protobuf::RepeatedPtrField<NcclSettingRank>& ranks,
                                bool colour) {
  if (ranks.empty()) return "";
  const std::vector<std::string> told = differing_parameters(ranks);
  std::vector<std::vector<Cell>> rows;
  for (int i = 0; i < ranks.size(); ++i) {
    const NcclSettingRank& rank = ranks[i];
    rows.push_back(
        {fmt::format("{}", fmt::join(rank.endpoints(), " ")), rank.kernel(),
         told[static_cast<std::size_t>(i)], format_bytes(rank.message_bytes()),
         std::to_string(rank.rank()), rank.settings(), value_text(rank.median(), rank.unit()),
         rank.has_median_low() ? fmt::format("{}..{}", value_text(rank.median_low(), rank.unit()),
                                             value_text(rank.median_high(), rank.unit()))
                               : "-",
         rank.has_of_best() ? fmt::format("{:.3f}", rank.of_best()) : "-", rank.choice()});
  }
  return "\n" +
         toned("NCCL settings by size; what the intervals do not tell apart shares a rank",
               Tone::kHeading, colour) +
         "\n" +
         render_table({{"ENDPOINTS"},
                       {"KERNEL"},
                       {"PARAMETERS"},
                       {"SIZE", true},
                       {"RANK", true},
                       {"SETTINGS"},
                       {"MEDIAN", true},
                       {"95 % INTERVAL", true},
                       {"OF BEST", true},
                       {"NCCL CHOSE"}},
                      rows, colour);
}

}  // namespace railgauge::cli
