#include "controller/cli/site/certificate_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/render/table.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

// Rows of a list on the page.
constexpr int kRowsShown = 6;
constexpr int kSeriesShown = 2;
constexpr std::size_t kMostNames = 60;

// The begin of a long list of names.
std::string shortened(const std::string& text) {
  return text.size() <= kMostNames ? text : text.substr(0, kMostNames) + "...";
}

// The document may be anybody's: no control character of it reaches the terminal.
std::string safe(const std::string& text) { return printable(text); }

// A row of such texts.
Row row_of(std::initializer_list<std::string> cells) {
  Row row;
  for (const std::string& cell : cells) row.emplace_back(safe(cell));
  return row;
}

// Name, result and proof; render_list() leaves out what is empty.
std::string head_of(const certificate::Opened& opened, bool colour) {
  const Certificate& content = opened.content;
  const std::string word = content.has_verdict() ? content.verdict() : content.outcome();
  const std::string findings = content.kind() == "run" && content.has_judged_at()
                                   ? fmt::format("{} new, {} confirmed", content.findings_new(),
                                                 content.findings_confirmed())
                                   : "";
  Rows rows{
      row_of({"certificate", fmt::format("{} {}", content.kind(), content.subject())}),
      {"result", Cell(safe(word), tone_of(word))},
      row_of({"why", content.reason()}),
      row_of({"findings", findings}),
      row_of({"suite", content.suite()}),
      row_of({"measured", content.has_started_at()
                              ? fmt::format("{} to {}", content.started_at(), content.ended_at())
                              : ""}),
      row_of({"judged", content.judged_at()}),
      row_of({"nodes", shortened(content.nodes())}),
      row_of({"controls", shortened(content.controls())}),
      row_of({"partners", shortened(content.proof().partners())}),
      row_of({"no part", shortened(content.other_nodes())}),
      row_of({"points", content.synthetic() ? "synthetic: they measure nothing" : ""})};
  // Lines of their own: 64 digits in a table would fold it.
  return render_list(rows, colour) + fmt::format("digest {}\n", safe(opened.digest)) +
         (opened.is_signed ? fmt::format("signed by key {}\n", opened.key_sha256)
                           : std::string("not signed\n"));
}

// A section of at most kRowsShown rows, with the number of the others.
template <class List, class RowOf>
std::string section(std::string_view headings, const List& list, bool colour, RowOf row) {
  Rows rows;
  for (int i = 0; i < std::min(list.size(), kRowsShown); ++i) rows.push_back(row(list[i]));
  std::string text = render_section(headings, rows, colour);
  if (list.size() > kRowsShown)
    text += fmt::format("and {} more; the document has them\n", list.size() - kRowsShown);
  return text;
}

// "2.0..3.5 %"; "" for none.
std::string range_text(double low, double high) {
  if (!std::isfinite(low)) return "";
  if (low == high) return fmt::format("{:.1f} %", low);
  return fmt::format("{:.1f}..{:.1f} %", low, high);
}

// A kind of parts in one row: the least and the largest of its smallest losses.
Row row_of_kind(const SeenKind& kind) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::array<double, 2> low{kNone, kNone};
  std::array<double, 2> high{0, 0};
  double parts = 0;
  double blind = 0;
  std::string names;
  const auto take = [&](std::size_t which, double percent) {
    low[which] = std::min(low[which], percent);
    high[which] = std::max(high[which], percent);
  };
  for (const SeenParts& group : kind.parts()) {
    parts += group.count();
    if (group.has_two_nights_percent()) take(0, group.two_nights_percent());
    if (group.has_this_night_percent()) take(1, group.this_night_percent());
    if (group.has_two_nights_percent() || group.has_this_night_percent()) continue;
    blind += group.count();
    names = group.names();
  }
  return row_of({kind.kind(), fmt::format("{:.0f}", parts), range_text(low[0], high[0]),
                 range_text(low[1], high[1]),
                 blind == 0 ? "" : fmt::format("{:.0f}: {}", blind, shortened(names))});
}

// A table a series; those beyond kSeriesShown are counted.
std::string seen_text(const Certificate& content, bool colour) {
  std::string text;
  for (int i = 0; i < std::min(content.seen_size(), kSeriesShown); ++i) {
    const SeenSeries& series = content.seen(i);
    text += "\n" +
            wrapped_line(safe(fmt::format("smallest loss that is called with 95 %: {}, {} night{}",
                                          series.series(), series.nights(),
                                          series.nights() == 1 ? "" : "s")),
                         2) +
            render_table("PART|COUNT>|IN 2 NIGHTS>|THIS NIGHT>|NOT SEEN",
                         rows_of(series.kinds(), row_of_kind), colour);
  }
  if (content.seen_size() > kSeriesShown)
    text += fmt::format("and {} more series; the document has them\n",
                        content.seen_size() - kSeriesShown);
  return text;
}

// The stacks with the nodes that had them.
std::string stack_text(const Certificate& content, bool colour) {
  return section("STACK|BEFORE|NODES", content.stacks(), colour, [](const CertifiedStack& s) {
    return row_of({s.has_fingerprint() ? s.fingerprint() : "unknown", s.fingerprint_before(),
                   shortened(s.nodes())});
  });
}

// Tasks that passed, tasks that did not with the reason, and the share of all pairs.
std::string tested_text(const Certificate& content, bool colour) {
  std::string text =
      section("TESTED|TASKS>|RUN", content.tested(), colour, [](const TestedTasks& tasks) {
        return row_of({tasks.kernel(), fmt::format("{:.0f}", tasks.tasks()), tasks.run_id()});
      });
  text += section("NOT TESTED|TASKS>|OUTCOME|ENDPOINTS|WHY", content.not_tested(), colour,
                  [](const UntestedTasks& tasks) {
                    return row_of({tasks.kernel(), fmt::format("{:.0f}", tasks.tasks()),
                                   tasks.outcome().empty() ? "not ended" : tasks.outcome(),
                                   shortened(tasks.endpoints()), tasks.reason()});
                  });
  text += section("PAIRS OF|MEASURED>|POSSIBLE>", content.pairs(), colour,
                  [](const MeasuredPairs& pairs) {
                    return row_of({pairs.series(), fmt::format("{:.0f}", pairs.measured()),
                                   fmt::format("{:.0f}", pairs.possible())});
                  });
  return text;
}

// Metrics of an upgrade and its single places; nothing for a run.
std::string metric_text(const Certificate& content, bool colour) {
  const auto loss = [](bool is_known, double percent) {
    return is_known ? fmt::format("{:.2f} %", percent) : std::string("unknown");
  };
  std::string text = section(
      "METRIC|VERDICT|WORSE>|BOUND>|SMALLEST LOSS>|MEASURED>", content.metrics(), colour,
      [&](const CertifiedMetric& metric) {
        return row_of({metric.name(), metric.verdict(),
                       fmt::format("{:+.2f} %", metric.worse_percent()),
                       fmt::format("{:.1f} %", metric.bound_percent()),
                       loss(metric.has_smallest_loss_percent(), metric.smallest_loss_percent()),
                       fmt::format("{:.0f} %", 100 * metric.measured_share())});
      });
  text += section(
      "ONE PLACE OF|PLACES>|SMALLEST LOSS>|NAMES", content.places(), colour,
      [&](const CertifiedPlaces& places) {
        return row_of({places.metric(), fmt::format("{:.0f}", places.count()),
                       loss(places.has_smallest_loss_percent(), places.smallest_loss_percent()),
                       shortened(places.places())});
      });
  return text;
}

// "2.1 %"; "" where it is not known.
std::string percent_text(bool is_known, double percent) {
  return is_known ? fmt::format("{:.1f} %", percent) : "";
}

// The proved nodes with their verdicts, and each series with the losses that were seen in it.
std::string proof_of_nodes(const Certificate& content, bool colour) {
  if (!content.has_proof()) return "";
  const Proof& proof = content.proof();
  std::string text = section(
      "PROOF OF|VERDICT|PARTS>|WITHOUT PAST>|WORSE>|NOT KNOWN>", proof.nodes(), colour,
      [](const ProvedNode& node) {
        return row_of({node.node(), node.verdict(), fmt::format("{:.0f}", node.parts()),
                       fmt::format("{:.0f}", node.parts_without_past()),
                       std::to_string(node.worse_size()), std::to_string(node.unsure_size())});
      });
  text += section(
      "PROVED BY|PARTS>|WORST OF PEERS>|WORST OF PAST>|CALLED FROM>", proof.series(), colour,
      [](const ProvedSeries& series) {
        return row_of(
            {series.series(), fmt::format("{:.0f}", series.parts()),
             percent_text(series.has_worst_of_peers_percent(), series.worst_of_peers_percent()),
             percent_text(series.has_worst_of_past_percent(), series.worst_of_past_percent()),
             percent_text(series.has_called_from_percent(), series.called_from_percent())});
      });
  return text;
}

// The first lines below a heading, with the number of the others.
template <class List>
std::string lines_text(std::string_view heading, const List& list) {
  if (list.empty()) return "";
  std::string text = fmt::format("\n{}\n", heading);
  for (int i = 0; i < std::min(list.size(), kRowsShown); ++i)
    text += wrapped_line("  " + safe(list[i]), 4);
  if (list.size() > kRowsShown) text += fmt::format("  and {} more\n", list.size() - kRowsShown);
  return text;
}

// The sentences of all nodes.
std::string worse_text(const Certificate& content) {
  google::protobuf::RepeatedPtrField<std::string> worse;
  google::protobuf::RepeatedPtrField<std::string> unsure;
  for (const ProvedNode& node : content.proof().nodes()) {
    worse.MergeFrom(node.worse());
    unsure.MergeFrom(node.unsure());
  }
  return lines_text("not proved", worse) + lines_text("not known", unsure);
}

}  // namespace

std::string certificate_text(const certificate::Opened& certificate, bool colour) {
  const Certificate& content = certificate.content;
  return head_of(certificate, colour) + proof_of_nodes(content, colour) + worse_text(content) +
         stack_text(content, colour) + tested_text(content, colour) +
         lines_text("left out", content.left_out()) + seen_text(content, colour) +
         metric_text(content, colour) + lines_text("lost", content.lost_functions()) +
         lines_text("note", content.limits());
}

}  // namespace railgauge::cli
