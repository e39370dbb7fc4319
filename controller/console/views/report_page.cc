#include "controller/console/views/report_page.h"

#include <string>

#include "controller/api/contract.h"
#include "controller/report/page.h"

namespace railgauge::console {
namespace {

std::string word(report::Mood mood) {
  switch (mood) {
    case report::Mood::kGood:
      return "good";
    case report::Mood::kBad:
      return "bad";
    case report::Mood::kDoubtful:
      return "doubtful";
    case report::Mood::kPlain:
      break;
  }
  return "plain";
}

void fill(const report::Entry& entry, api::ReportEntry& out) {
  out.set_mark(entry.mark);
  out.set_mood(word(entry.mood));
  out.set_head(entry.head);
  out.set_text(entry.text);
  out.mutable_before_levels()->Add(entry.before.begin(), entry.before.end());
  out.mutable_after_levels()->Add(entry.after.begin(), entry.after.end());
}

}  // namespace

api::ReportPage page_of_report(const api::SiteReport& report) {
  const report::Page page = report::page_of(report, kEntriesOfReport);
  api::ReportPage out;
  out.set_schema_version(kSchemaVersion);
  out.set_title(page.title);
  out.set_subtitle(page.subtitle);
  out.set_verdict(page.verdict);
  out.set_mood(word(page.mood));
  out.set_headline(page.headline);
  for (const report::Section& section : page.sections) {
    api::ReportSection& to = *out.add_sections();
    to.set_title(section.title);
    to.set_summary(section.summary);
    to.set_left(static_cast<std::uint32_t>(section.left));
    for (const report::Entry& entry : section.entries) fill(entry, *to.add_entries());
  }
  for (const std::string& step : page.next) out.add_next(step);
  out.set_next_left(static_cast<std::uint32_t>(page.next_left));
  out.set_markdown(report::page_markdown(page));
  return out;
}

}  // namespace railgauge::console
