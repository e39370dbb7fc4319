#include "kernels/verbs/rails/report.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "kernels/verbs/rails/rails.h"
#include "kernels/verbs/stream/link_stream.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge::verbs {
namespace {

using Facts = std::map<std::string, std::string>;
using Counts = std::vector<std::vector<std::uint32_t>>;

// A rank that posts nothing has no counts.
Counts counts_of(const RailFigure& figure) {
  Counts counts;
  for (const auto& of_rank : figure.counts)
    if (!of_rank.empty()) counts.push_back(of_rank);
  return counts;
}

// "rails0-1>rails0-1": of both ends of all links, in their order.
std::string rails_of(std::span<const RailFigure> figures) {
  std::vector<RailPort> mine;
  std::vector<RailPort> theirs;
  for (const RailFigure& figure : figures) {
    mine.push_back(figure.link->mine().rail());
    theirs.push_back(figure.link->peer().rail());
  }
  return rails_words(mine) + ">" + rails_words(theirs);
}

// The share of one rank's stream in a figure's ports. A late look at the queue does not make it too
// large: one group is subtracted.
void add_loads(const RailFigure& figure, const RailsForm& form, std::vector<PortLoad>& loads) {
  const Link& link = *figure.link;
  if (!line_rate_between(link.device(), link.mine(), link.peer()).waiver.empty()) return;
  for (std::uint32_t from = 0; from < 2; ++from) {
    const auto& counts = figure.counts.at(from);
    if (counts.empty()) continue;
    const double messages = std::accumulate(counts.begin(), counts.end(), 0.0);
    const double seconds = form.slots.slot_seconds * static_cast<double>(counts.size());
    // Bytes that surely crossed the port within the interval.
    const double bytes = static_cast<double>(form.slots.message_bytes) *
                         std::max(0.0, messages - static_cast<double>(form.slots.group));
    for (std::uint32_t port_of = 0; port_of < 2; ++port_of) {
      const PeerAddress& end = port_of == 0 ? link.mine() : link.peer();
      loads.push_back({.port_of = port_of,
                       .from = from,
                       .endpoint = end.endpoint(),
                       .rate_bits_per_second = end.line_rate_bits_per_second(),
                       .bytes_per_second = bytes / seconds});
    }
  }
}

// The CPU of all links of a rank, and each of its ports' troubles once; a port's traffic is
// reported with its links.
void add_sum_of_accounts(std::span<const RailFigure> figures, std::uint32_t rank, double bytes,
                         Facts& facts) {
  const std::string prefix = rank == 0 ? "" : "peer_";
  CpuCost cost;
  Facts troubles;  // of each port
  for (const RailFigure& figure : figures) {
    const Account& account = figure.accounts.at(rank);
    cost.cpu_ns += account.cpu_ns();
    cost.messages += account.messages();
    const PeerAddress& end = rank == 0 ? figure.link->mine() : figure.link->peer();
    Facts own;
    add_troubles(account, "", own);
    for (const auto& [name, words] : own) troubles[end.endpoint()] = words;
  }
  add_bandwidth_cost(cost, bytes, prefix, facts);
  std::string words;
  for (const auto& [endpoint, grown] : troubles)
    words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", endpoint, grown);
  if (!words.empty()) facts[prefix + "port_counters_grown"] = words;
}

// For one link, or for all: the counts of each link's two ranks in turn.
std::vector<Direction> directions_of(const Counts& counts, const RailsForm& form, Facts& facts) {
  std::vector<Direction> each;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::vector<std::uint32_t> own(counts[0].size());
    for (std::size_t at = rank; at < counts.size(); at += 2)
      std::ranges::transform(own, counts[at], own.begin(), std::plus{});
    each.push_back(add_direction(rank == 0 ? "initiator" : "target", own, form.slots, facts));
  }
  return each;
}

// For one link (`line_rate` is its own), or for all.
Result<std::vector<Point>> points_of(const Context& context, const Counts& counts, const Link& link,
                                     const RailsForm& form, LineRate line_rate,
                                     const Facts& facts) {
  Measured measured = measured_by_slots(counts, form.slots);
  measured.facts.insert(facts.begin(), facts.end());
  measured.facts["signal_every"] = std::to_string(form.slots.group);
  measured.facts["buffer"] = buffer_words(link);
  std::vector<Direction> each;
  if (form.both) {
    measured.facts["clock_uncertainty_ns"] = fmt::format("{:.0f}", form.uncertainty_ns);
    each = directions_of(counts, form, measured.facts);
  }
  auto points = RG_TRY(make_points(context, std::move(measured),
                                   {.message_bytes = form.slots.message_bytes,
                                    .meaning = form.both ? "bidirectional_sum" : "unidirectional",
                                    .directions = form.both ? 2U : 1U,
                                    .each = std::move(each),
                                    .line_rate = std::move(line_rate),
                                    .precision = form.precision}));
  for (Point& point : points) {
    point.set_verified(form.verified);
    if (link.memory().is_synthetic()) point.set_synthetic(true);
  }
  return points;
}

// The points of one link, with the link's own line rate as the bound.
Status add_link(const Context& context, const RailFigure& figure, const RailsForm& form,
                std::vector<Point>& out) {
  const Link& link = *figure.link;
  Facts facts = figure.facts;
  add_proved(figure.proved, form.slots.message_bytes, facts);
  facts["link"] = link.device().endpoint() + ">" + link.peer().endpoint();
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    add_bandwidth_account(figure.accounts.at(rank), form.slots.message_bytes,
                          rank == 0 ? "" : "peer_", facts);
  }
  for (Point& point :
       RG_TRY(points_of(context, counts_of(figure), link, form,
                        line_rate_between(link.device(), link.mine(), link.peer()), facts))) {
    point.set_pair(rail_word(link.mine().rail()) + ">" + rail_word(link.peer().rail()));
    out.push_back(std::move(point));
  }
  return {};
}

}  // namespace

// The sum over all links of a port and direction must fit the port. kDataLoss names the port.
Result<std::size_t> check_port_loads(std::span<const PortLoad> loads) {
  std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, PortLoad> sums;
  std::set<std::pair<std::uint32_t, std::string>> ports;
  for (const PortLoad& load : loads) {
    if (load.rate_bits_per_second <= 0) continue;
    ports.emplace(load.port_of, load.endpoint);
    const auto [at, is_new] = sums.try_emplace({load.port_of, load.endpoint, load.from}, load);
    if (!is_new) at->second.bytes_per_second += load.bytes_per_second;
  }
  for (const auto& [key, load] : sums)
    RG_TRY_OK(
        check_line_rate(fmt::format("rank {}'s {}: all its links", load.port_of, load.endpoint),
                        load.rate_bits_per_second, load.bytes_per_second));
  return ports.size();
}

// Points of the links come first, the sum last; nothing is reported where any figure is void.
Status report_rails(const Context& context, std::span<const RailFigure> figures,
                    const RailsForm& form) {
  std::vector<Point> points;
  std::vector<PortLoad> loads;
  Counts all;
  Proved proved;
  bool is_synthetic = false;
  for (const RailFigure& figure : figures) {
    // Links of one port have one name, and each has a part of what the port can do.
    // Only the sum is a figure then.
    if (form.threads == 1) RG_TRY_OK(add_link(context, figure, form, points));
    add_loads(figure, form, loads);
    for (auto& counts : counts_of(figure)) all.push_back(std::move(counts));
    proved.messages += figure.proved.messages;
    proved.sent += figure.proved.sent;
    is_synthetic = is_synthetic || figure.link->memory().is_synthetic();
  }
  const std::size_t held = RG_TRY(check_port_loads(loads));
  Facts facts;
  facts["links"] = std::to_string(figures.size());
  if (form.threads > 1) facts["threads"] = fmt::format("{} for each pair of ports", form.threads);
  add_proved(proved, form.slots.message_bytes, facts);
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    add_sum_of_accounts(figures, rank, static_cast<double>(form.slots.message_bytes), facts);
  CostlyTransfer sum;
  for (Point& point :
       RG_TRY(points_of(context, all, *figures.front().link, form,
                        {.waiver = "no port of the links has a rate that is a bound"}, facts))) {
    if (held > 0)
      (*point.mutable_facts())["line_rate_check"] =
          fmt::format("held by the links of each of {} ports", held);
    if (is_synthetic) point.set_synthetic(true);
    if (point.metric() == kBandwidthMetric)
      sum = {.bytes_per_second = point.rate(),
             .message_bytes = form.slots.message_bytes,
             .is_synthetic = point.synthetic()};
    point.set_pair(rails_of(figures));
    points.push_back(std::move(point));
  }
  for (Point& point : points) context.reporter.point(std::move(point));
  report_host_costs(context.reporter, rails_of(figures), form.host_costs, sum);
  return {};
}

}  // namespace railgauge::verbs
