#include "controller/cli/report/nccl_settings.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/params.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/profile.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;
using Tasks = google::protobuf::RepeatedPtrField<TaskDetail>;

constexpr double kLatencyUpToBytes = 1U << 20U;  // from here on kernels/nccl reports none
constexpr const char* kEnvironment = "environment";

// Reports whether the parameter sets an NCCL variable, or is the environment as a whole.
bool is_setting(const std::string& parameter) {
  return parameter == kEnvironment ||
         std::ranges::any_of(nccl_settings(), [&](const NcclSetting& setting) {
           return setting.parameter == parameter;
         });
}

// The distinguishing parameters of a point or a task, without NCCL's settings.
template <class Message>
Parameters others_of(const Message& message) {
  Parameters others = telling_parameters(message, kEnvironment);
  std::erase_if(others, [](const auto& parameter) { return is_setting(parameter.first); });
  return others;
}

// "NCCL_ALGO=Ring NCCL_PROTO=Simple".
template <class Message>
std::string settings_of(const Message& message) {
  const std::map<std::string, std::string> parameters(message.parameters().begin(),
                                                      message.parameters().end());
  std::string out = value_of(parameters, kEnvironment) == "clean" ? "clean" : "";
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

// Algorithm and protocol that NCCL used, where the point records them.
std::string choice_of(const Point& point) {
  std::string out;
  for (const char* name : {"algorithm", "protocol"})
    if (const auto fact = point.facts().find(name); fact != point.facts().end())
      out += (out.empty() ? "" : " ") + fact->second;
  return out;
}

// All that was measured with one setting.
struct Measured {
  std::vector<double> headlines;
  std::vector<double> lows;  // as many as headlines, or the interval is not known
  std::vector<double> highs;
  std::string choice;
};

// All settings of one figure.
struct Contest {
  const ResultPoint* first = nullptr;
  std::vector<std::string> settings{};  // in the points' order
  std::map<std::string, Measured> measured{};
  std::vector<std::pair<std::string, std::string>> missing{};  // setting, reason; in tasks' order
};

// The fields that all entries of a contest share.
NcclSettingRank entry_of(const Contest& contest, const std::string& settings) {
  auto out = entry_for<NcclSettingRank>(*contest.first, others_of(*contest.first));
  out.set_settings(settings);
  return out;
}

// The median of the tasks' headlines, and the widest interval of all tasks.
NcclSettingRank measured_entry(const Contest& contest, const std::string& settings) {
  const Measured& measured = contest.measured.at(settings);
  NcclSettingRank out = entry_of(contest, settings);
  out.set_choice(measured.choice);
  out.set_median(median(measured.headlines));
  if (measured.lows.size() == measured.headlines.size()) {
    out.set_median_low(*std::ranges::min_element(measured.lows));
    out.set_median_high(*std::ranges::max_element(measured.highs));
  }
  return out;
}

// Reports whether all of `better` is on the good side of all of `worse`; without an interval a
// figure is apart from none.
bool is_apart(const NcclSettingRank& better, const NcclSettingRank& worse, bool larger_is_better) {
  if (!better.has_median_low() || !worse.has_median_low()) return false;
  return larger_is_better ? better.median_low() > worse.median_high()
                          : better.median_high() < worse.median_low();
}

// Sorts by the headline, ranks by its intervals, and adds settings without a figure at the end. One
// setting alone is no contest.
void add_ranks(const Contest& contest, std::vector<NcclSettingRank>& out) {
  if (contest.settings.size() + contest.missing.size() < 2) return;
  const bool larger = contest.first->point().larger_is_better();
  std::vector<NcclSettingRank> entries;
  for (const std::string& settings : contest.settings)
    entries.push_back(measured_entry(contest, settings));
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
  for (const auto& [settings, reason] : contest.missing) {
    out.push_back(entry_of(contest, settings));
    out.back().set_not_measured(reason);
  }
}

// Why a task gave no such figure.
std::string reason_of(const TaskDetail& task) {
  if (task.outcome().empty()) return task.state();
  if (task.outcome() == kPassed) return "passed without such a figure";
  return task.outcome() + (task.reason().empty() ? "" : ": ") + task.reason();
}

// Reports whether the task was to measure messages of so many bytes.
bool has_size(const TaskDetail& task, double bytes) {
  const auto list = parse_bytes_list(value_of(task.parameters(), "sizes"));
  return list && std::ranges::any_of(*list, [bytes](std::uint64_t size) {
           return static_cast<double>(size) == bytes;
         });
}

// Settings of tasks like the one that measured the contest's first point, without a figure.
void add_missing(const Tasks& tasks, Contest& contest) {
  const auto measured = std::ranges::find(tasks, contest.first->task_id(), &TaskDetail::task_id);
  if (measured == tasks.end()) return;
  const Parameters others = others_of(*measured);
  for (const TaskDetail& task : tasks) {
    const std::string settings = settings_of(task);
    // Alike but for the settings, and measured at this size.
    const bool alike = task.kernel() == measured->kernel() &&
                       std::ranges::equal(task.endpoints(), measured->endpoints()) &&
                       others_of(task) == others &&
                       has_size(task, contest.first->point().message_bytes());
    const bool told = contest.measured.contains(settings) ||
                      std::ranges::any_of(contest.missing, [&](const auto& missing) {
                        return missing.first == settings;
                      });
    if (alike && !told) contest.missing.emplace_back(settings, reason_of(task));
  }
}

// A missing interval of one task makes the setting's interval unknown.
void add_point(const ResultPoint& point, Contest& contest) {
  const std::string settings = settings_of(point);
  const auto [place, is_first] = contest.measured.try_emplace(settings);
  if (is_first) contest.settings.push_back(settings);
  Measured& measured = place->second;
  const Point& value = point.point();
  measured.headlines.push_back(headline_of(value));
  if (const auto interval = interval_of_headline(value)) {
    measured.lows.push_back(interval->low);
    measured.highs.push_back(interval->high);
  }
  if (measured.choice.empty()) measured.choice = choice_of(value);
}

}  // namespace

// Points first, to find the contests; then tasks, to find the settings that gave no figure.
std::vector<NcclSettingRank> nccl_setting_ranks(const Points& points, const Tasks& tasks) {
  // Points with the same key compete with each other.
  const auto key = [](const ResultPoint& point) {
    if (!is_ranked(point)) return std::string();
    return key_of(point, entry_for<NcclSettingRank>(point, others_of(point)));
  };
  std::vector<NcclSettingRank> out;
  for (const auto& figure : grouped(points, key)) {
    Contest contest{.first = figure.front()};
    for (const ResultPoint* point : figure) add_point(*point, contest);
    add_missing(tasks, contest);
    add_ranks(contest, out);
  }
  return out;
}

// The column of parameters has only those that differ between rows.
std::string nccl_settings_table(const google::protobuf::RepeatedPtrField<NcclSettingRank>& ranks,
                                bool colour) {
  Rows rows;
  for_each_compared(ranks, [&](const NcclSettingRank& rank, const std::string& told) {
    rows.push_back({rank.endpoints(), rank.kernel(), told, format_bytes(rank.message_bytes()),
                    rank.has_rank() ? std::to_string(rank.rank()) : "-", rank.settings(),
                    rank.has_median() ? value_text(rank.median(), rank.unit()) : "not measured",
                    rank.has_median_low()
                        ? fmt::format("{}..{}", value_text(rank.median_low(), rank.unit()),
                                      value_text(rank.median_high(), rank.unit()))
                        : "-",
                    rank.has_of_best() ? fmt::format("{:.3f}", rank.of_best()) : "-", rank.choice(),
                    rank.not_measured()});
  });
  return render_section(
      "ENDPOINTS|KERNEL|PARAMETERS|SIZE>|RANK>|SETTINGS|FIGURE>|95 % INTERVAL>|OF BEST>|NCCL CHOSE|"
      "WHY NOT",
      rows, colour, "NCCL settings by size; settings whose intervals overlap share a rank");
}

}  // namespace railgauge::cli
