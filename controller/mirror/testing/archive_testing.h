// Helpers of the mirror's tests: a store with a mirror, and comparisons of both databases.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/mirror/copy_rows.h"
#include "controller/mirror/mirror.h"
#include "controller/mirror/testing/postgres_cluster.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/testing/store_testing.h"
#include "controller/trust/digest.h"

namespace railgauge::mirror {

// One cluster for all tests of a program, made at first use.
inline PostgresCluster& cluster() {
  static PostgresCluster one;
  return one;
}

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    if (postgres_programs().empty()) GTEST_SKIP() << "no PostgreSQL server is installed";
    static int number = 0;
    url_ = cluster().make_database(fmt::format("archive{}", ++number));
  }
  // Opens a store whose changes are noted.
  static std::unique_ptr<store::Store> open_armed(const std::string& path) {
    auto opened = store::open_store(path);
    const Status armed = opened->write(store::arm_mirror);
    EXPECT_TRUE(armed) << armed.error().message;
    return opened;
  }
  [[nodiscard]] MirrorOptions options(const std::string& site) const {
    return {.url = url_, .site = site, .answer_seconds = 10, .trim_seconds = 0};
  }
  // Steps until the archive has all; false after too many.
  static bool drain(Mirror& mirror, store::Store& store, double now = 1.7e9) {
    for (int step = 0; step < 2'000; ++step) {
      const double pause = mirror.step(now);
      now += std::max(pause, 0.01);
      const auto state = store.read(store::read_mirror_state);
      if (pause > 0 && state && state->even_at > 0 && mirror.figures().waiting_rows == 0 &&
          mirror.figures().is_connected && mirror.figures().tables_left == 0)
        return true;
    }
    return false;
  }
  // One value of the archive as text.
  std::string ask(const std::string& sql) const {
    auto database = pq::Connection::open({.url = url_});
    if (!database) return database.error().message;
    const auto answer = (*database)->query(sql);
    if (!answer) return answer.error().message;
    return answer->rows() == 0 ? "no rows" : std::string(answer->text(0, 0));
  }
  // Rows of a table as both sides have them, each as one text, in order; quiet columns left out.
  [[nodiscard]] static std::vector<std::string> rows_here(const store::Store& store,
                                                          std::size_t table) {
    const auto& wanted = store::mirror_tables()[table];
    std::vector<std::string> rows;
    std::int64_t after = -9'223'372'036'854'775'807;
    for (;;) {
      const auto page = store.read(store::walk_mirror_table, table, after, store::MirrorBounds{});
      EXPECT_TRUE(page) << page.error().message;
      if (!page || page->entries == 0) break;
      after = page->through;
      const auto& cells = page->tables[0].cells;
      for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        const auto& column = wanted.columns[cell % wanted.columns.size()];
        if (cell % wanted.columns.size() == 0) rows.emplace_back();
        if (!column.is_quiet) rows.back() += text_here(column.kind, cells[cell]) + "|";
      }
    }
    std::ranges::sort(rows);
    return rows;
  }
  [[nodiscard]] static std::string text_here(store::MirrorKind kind,
                                             const store::MirrorCell& cell) {
    using Kind = store::MirrorKind;
    if (std::holds_alternative<std::monostate>(cell)) return "NULL";
    if (const auto* text = std::get_if<std::string>(&cell))
      return kind == Kind::kBlob ? trust::sha256_hex(*text) : *text;
    const auto* integer = std::get_if<std::int64_t>(&cell);
    const double number =
        integer != nullptr ? static_cast<double>(*integer) : std::get<double>(cell);
    if (kind == Kind::kSeconds) return fmt::format("{:.0f}", std::round(number * 1e6));
    if (kind == Kind::kMilliseconds) return fmt::format("{:.0f}", number * 1e3);
    return fmt::format("{:.17g}", number);
  }
  [[nodiscard]] std::vector<std::string> rows_there(std::size_t table, int site) const {
    const auto& wanted = store::mirror_tables()[table];
    std::string columns;
    std::vector<store::MirrorKind> kinds;
    for (const auto& column : wanted.columns) {
      if (column.is_quiet) continue;
      const std::string name = fmt::format("\"{}\"", column_name(column));
      kinds.push_back(column.kind);
      columns += columns.empty() ? "" : ", ";
      if (column.kind == store::MirrorKind::kSeconds ||
          column.kind == store::MirrorKind::kMilliseconds)
        columns += fmt::format("(extract(epoch FROM {}) * 1000000)::bigint", name);
      else
        columns +=
            column.kind == store::MirrorKind::kBlob ? fmt::format("encode({}, 'hex')", name) : name;
    }
    auto database = pq::Connection::open({.url = url_});
    EXPECT_TRUE(database) << database.error().message;
    const auto found = (*database)->query(
        fmt::format("SELECT {} FROM railgauge.\"{}\" WHERE site={}", columns, wanted.name, site));
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> rows;
    for (int row = 0; found && row < found->rows(); ++row) {
      auto& text = rows.emplace_back();
      for (int column = 0; column < found->columns(); ++column) {
        const bool is_number = kinds[static_cast<std::size_t>(column)] <= store::MirrorKind::kReal;
        if (found->is_null(row, column))
          text += "NULL|";
        else if (is_number)
          text += fmt::format("{:.17g}|", found->real(row, column));
        else
          text += fmt::format("{}|", found->text(row, column));
      }
    }
    std::ranges::sort(rows);
    return rows;
  }
  // Tables whose rows differ from the store's in number or content, with the first difference.
  [[nodiscard]] std::string differences(const store::Store& store, int site = 1) const {
    std::string text;
    for (std::size_t table = 0; table < store::mirror_tables().size(); ++table) {
      const auto here = rows_here(store, table);
      const auto there = rows_there(table, site);
      if (here == there) continue;
      const auto [one, other] = std::ranges::mismatch(here, there);
      text += fmt::format("{}: {} rows instead of {}; here {}, there {}\n",
                          store::mirror_tables()[table].name, there.size(), here.size(),
                          one == here.end() ? "-" : *one, other == there.end() ? "-" : *other);
    }
    return text;
  }

  std::string url_;
  store::TempFolder folder_;
  std::vector<std::pair<std::string, std::string>> events_;
  Note note_ = [this](std::string kind, std::string text) {
    events_.emplace_back(std::move(kind), std::move(text));
  };
};

// A store of one site with its mirror.
class MirrorTest : public ArchiveTest {
 protected:
  void SetUp() override {
    ArchiveTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_armed(folder_.file("db"));
    mirror_ = make();
  }
  std::unique_ptr<Mirror> make(const std::string& site = "east") {
    return std::make_unique<Mirror>(options(site), *store_, note_, [] { return false; });
  }
  void measure(const std::string& run_id, int tasks) {
    store::plan_run(*store_, run_id, tasks);
    for (int task = 1; task <= tasks; ++task)
      store::append_passed(*store_, {.run_id = run_id, .task_id = fmt::format("t{:04}", task)});
  }
  void reopen_without_mirror() {
    mirror_.reset();
    store_.reset();
    store_ = store::open_store(folder_.file("db"));
    ASSERT_TRUE(store_->write(store::disarm_mirror));
  }
  void reopen_armed() {
    mirror_.reset();
    store_.reset();
    store_ = open_armed(folder_.file("db"));
    mirror_ = make();
  }
  void expect_same() {
    ASSERT_TRUE(drain(*mirror_, *store_));
    EXPECT_EQ(differences(*store_), "");
  }

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Mirror> mirror_;
};

}  // namespace railgauge::mirror
