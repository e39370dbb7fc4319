#include "controller/cli/site/certificate_text.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/render/table.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// A night of a large site, with more of everything than a page shows.
Certificate large_certificate() {
  Certificate content;
  content.set_schema_version(1);
  content.set_kind("run");
  content.set_subject("r-20261120-013000-1");
  content.set_suite("nightly");
  content.set_outcome("passed");
  content.set_started_at("2026-11-20T01:30:00Z");
  content.set_ended_at("2026-11-20T03:28:10Z");
  content.set_judged_at("2026-11-20T03:29:00Z");
  content.set_nodes("gpu[001-512]");
  CertifiedStack& stack = *content.add_stacks();
  stack.set_nodes("gpu[001-512]");
  stack.set_fingerprint("0123456789abcdef");
  for (int i = 0; i < 20; ++i) {
    UntestedTasks& tasks = *content.add_not_tested();
    tasks.set_run_id(content.subject());
    tasks.set_kernel("bar.write_bw");
    tasks.set_outcome("waived");
    tasks.set_reason("no GPU of gpu[100-104] is idle, and so nothing was measured on it today");
    tasks.set_tasks(40);
    tasks.set_endpoints(fmt::format("gpu[{:03}-512]/mlx5_[0-7]:1", i + 1));
    content.add_limits(
        fmt::format("limit {} of the statement, which is a long sentence about it", i));
  }
  for (int i = 0; i < 3; ++i) {
    SeenSeries& seen = *content.add_seen();
    seen.set_series("verbs.write_bw bandwidth_bytes_per_second 64 KiB");
    seen.set_nights(14);
    for (const char* kind : {"leaf", "node", "port", "port, sending", "GPU path", "trunk"}) {
      SeenKind& told = *seen.add_kinds();
      told.set_kind(kind);
      for (const double percent : {2.5, 3.0}) {
        SeenParts& parts = *told.add_parts();
        parts.set_two_nights_percent(percent);
        parts.set_this_night_percent(percent + 2);
        parts.set_count(256);
        parts.set_names("gpu[001-256] rail [0-7]");
      }
      SeenParts& blind = *told.add_parts();
      blind.set_count(8);
      blind.set_names("gpu400 rail [0-7]");
    }
  }
  return content;
}

std::string page_of(const Certificate& content, int columns) {
  fold_tables_at(columns);
  std::string page =
      certificate_text({.content = content, .digest = certificate::digest_of(content)}, false);
  fold_tables_at(0);
  return page;
}

TEST(CertificateText, ALargeOneFitsAScreenOf80Columns) {
  const std::string page = page_of(large_certificate(), 80);
  EXPECT_LE(std::ranges::count(page, '\n'), 60) << page;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(page, HasSubstr("2.5..3.0 %"));
  EXPECT_THAT(page, HasSubstr("8: gpu400 rail [0-7]"));
  EXPECT_THAT(page, HasSubstr("and 14 more"));
}

TEST(CertificateText, NoControlCharacterReachesTheTerminal) {
  Certificate content = large_certificate();
  content.set_suite("night\033[2Jly");
  content.mutable_not_tested(0)->set_reason("\033]0;x\a");
  EXPECT_THAT(page_of(content, 0), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace railgauge::cli
