// The report as a page for people: sections of short entries, written as text or Markdown. HTML is
// written by the CLI from the same page, so that all of them have the same entries. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/api/site.pb.h"

namespace railgauge::report {

enum class Mood { kPlain, kGood, kBad, kDoubtful };

// One entry: a mark ("new", "waived"), what it is about, and a sentence or two below.
struct Entry {
  std::string mark{};
  Mood mood = Mood::kPlain;
  std::string head{};
  std::string text{};  // "": nothing to add
  // The figure run after run, relative to the level before; empty: none.
  std::vector<double> before{};
  std::vector<double> after{};
};
struct Section {
  std::string title{};
  std::string summary{};  // one line; "": none
  std::vector<Entry> entries{};
  std::size_t left = 0;  // entries that were not taken in
};
struct Page {
  std::string title{};
  std::string subtitle{};
  std::string verdict{};
  Mood mood = Mood::kPlain;
  std::string headline{};
  std::vector<Section> sections{};
  std::vector<std::string> next{};
  std::size_t next_left = 0;
};

// Makes the page with at most `most_entries` entries a section, and all urgent steps.
inline constexpr std::size_t kEntriesOfText = 6;
Page page_of(const api::SiteReport& report, std::size_t most_entries = kEntriesOfText);

// Writes the page in lines of at most `columns` characters; words that are longer stand alone.
inline constexpr std::size_t kTextColumns = 80;
std::string page_text(const Page& page, std::size_t columns = kTextColumns);
// Writes the page as Markdown that chat programs take: headings, lists, bold and code.
std::string page_markdown(const Page& page);

}  // namespace railgauge::report
