#include "controller/cli/site/report_html.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using report::Entry;
using report::Mood;
using report::Page;
using report::Section;

// One column on paper and on a phone; colours have words beside them.
constexpr std::string_view kStyle = R"css(
:root { --good: #1a7f37; --bad: #b3261e; --doubt: #8a5a00; --rule: #d5d9de; --soft: #57606a; }
* { box-sizing: border-box; }
body { font: 14px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; margin: 0 auto;
  max-width: 60rem; padding: 1.5rem; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.4rem 0 .3rem; border-bottom: 1px solid var(--rule); }
.sub, .more { color: var(--soft); margin: .1rem 0; }
.verdict { border-left: .4rem solid var(--soft); background: #f6f8fa; margin: .8rem 0;
  padding: .6rem .8rem; font-size: 1.05rem; }
.verdict.good { border-color: var(--good); }
.verdict.bad { border-color: var(--bad); }
.verdict.doubt { border-color: var(--doubt); }
table { border-collapse: collapse; width: 100%; }
td { vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #eef0f2;
  overflow-wrap: anywhere; }
td.mark { white-space: nowrap; width: 9rem; font-weight: 600; }
td.line { width: 150px; padding-right: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
.verdict.good, .verdict.bad, .verdict.doubt { color: inherit; }
.verdict b.good { color: var(--good); } .verdict b.bad { color: var(--bad); }
.verdict b.doubt { color: var(--doubt); }
.text { color: var(--soft); }
ol { margin: .3rem 0; padding-left: 1.6rem; }
.matrix svg { max-width: 100%; height: auto; }
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  h2 { break-after: avoid; } tr, .matrix { break-inside: avoid; }
  .verdict { background: none; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
)css";

std::string html(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string_view class_of(Mood mood) {
  if (mood == Mood::kGood) return "good";
  if (mood == Mood::kBad) return "bad";
  return mood == Mood::kDoubtful ? "doubt" : "plain";
}

// A line through the levels: grey before the change, red after it, a rule at 1.
std::string sparkline_svg(const Entry& entry) {
  constexpr double kWidth = 140;
  constexpr double kHeight = 32;
  constexpr double kEdge = 3;
  std::vector<double> levels = entry.before;
  levels.insert(levels.end(), entry.after.begin(), entry.after.end());
  if (levels.size() < 2) return "";
  const double low = std::min(1.0, *std::ranges::min_element(levels));
  const double high = std::max(1.0, *std::ranges::max_element(levels));
  const double span = std::max(high - low, 1e-9);
  const auto x = [&](std::size_t i) {
    return kEdge +
           (kWidth - 2 * kEdge) * static_cast<double>(i) / static_cast<double>(levels.size() - 1);
  };
  const auto y = [&](double level) {
    return kHeight - kEdge - (kHeight - 2 * kEdge) * (level - low) / span;
  };
  const auto line = [&](std::size_t from, std::size_t to, const char* colour) {
    std::string points;
    for (std::size_t i = from; i < to; ++i)
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x(i), y(levels[i]));
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>",
                       points, colour);
  };
  const std::size_t change = entry.before.size();
  std::string svg = fmt::format(
      "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">"
      "<title>run by run, {2:.2f} to {3:.2f} of the level before</title><line x1=\"0\" "
      "x2=\"{0:.0f}\" y1=\"{4:.1f}\" y2=\"{4:.1f}\" stroke=\"#c4cad0\" "
      "stroke-dasharray=\"3 3\"/>",
      kWidth, kHeight, *std::ranges::min_element(levels), *std::ranges::max_element(levels),
      y(1.0));
  if (change > 0) svg += line(0, change, "#57606a");
  if (change < levels.size()) svg += line(change == 0 ? 0 : change - 1, levels.size(), "#b3261e");
  return svg + "</svg>";
}

std::string entry_row(const Entry& entry, bool has_lines) {
  std::string row = fmt::format("<tr><td class=\"mark {}\">{}</td><td>{}", class_of(entry.mood),
                                html(entry.mark), html(entry.head));
  if (!entry.text.empty()) row += fmt::format("<div class=\"text\">{}</div>", html(entry.text));
  row += "</td>";
  if (has_lines) row += fmt::format("<td class=\"line\">{}</td>", sparkline_svg(entry));
  return row + "</tr>\n";
}

std::string section_html(const Section& section) {
  std::string text = fmt::format("<h2>{}</h2>\n", html(section.title));
  if (!section.summary.empty())
    text += fmt::format("<p class=\"sub\">{}</p>\n", html(section.summary));
  const bool has_lines = std::ranges::any_of(section.entries, [](const Entry& entry) {
    return entry.before.size() + entry.after.size() > 1;
  });
  if (!section.entries.empty()) {
    text += "<table>\n";
    for (const Entry& entry : section.entries) text += entry_row(entry, has_lines);
    text += "</table>\n";
  }
  if (section.left > 0) text += fmt::format("<p class=\"more\">and {} more</p>\n", section.left);
  return text;
}

}  // namespace

std::string report_html(const Page& page, const std::string& matrix, const std::string& no_matrix) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}: {}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n"
      "<p class=\"sub\">{}</p>\n<div class=\"verdict {}\"><b class=\"{}\">{}</b>: {}</div>\n",
      html(page.title), html(page.verdict), kStyle, html(page.title), html(page.subtitle),
      class_of(page.mood), class_of(page.mood), html(page.verdict), html(page.headline));
  text += "<h2>Next</h2>\n";
  if (page.next.empty()) text += "<p class=\"sub\">nothing</p>\n";
  if (!page.next.empty()) {
    text += "<ol>\n";
    for (const std::string& step : page.next) text += fmt::format("<li>{}</li>\n", html(step));
    text += "</ol>\n";
  }
  if (page.next_left > 0)
    text += fmt::format("<p class=\"more\">and {} more</p>\n", page.next_left);
  for (const Section& section : page.sections) text += section_html(section);
  if (!matrix.empty())
    text += "<h2>Pairs of nodes</h2>\n<div class=\"matrix\">\n" + matrix + "</div>\n";
  else if (!no_matrix.empty())
    text += fmt::format("<h2>Pairs of nodes</h2>\n<p class=\"sub\">no picture: {}</p>\n",
                        html(no_matrix));
  return text + "</body>\n</html>\n";
}

}  // namespace railgauge::cli
