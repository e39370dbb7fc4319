// The audit log over a real database and a real file.
#include "controller/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::audit {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kNow = 1'764'000'000;  // 2025-11-24T16:00:00Z

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Act act_of(const std::string& rpc, const std::string& subject = "r1") {
  return {.caller = {.who = "ann", .role = "operator", .address = "ipv4:192.0.2.1:7"},
          .rpc = rpc,
          .subject = subject};
}

class AuditLogTest : public testing::Test {
 protected:
  void open(store::StoreOptions options = {}) {
    store_ = store::open_store(folder_.file("db"), std::move(options));
    auto log = AuditLog::open(*store_, {.file = file_, .clock = [] { return kNow; }});
    ASSERT_TRUE(log) << log.error().message;
    log_ = std::move(*log);
  }
  std::vector<store::AuditRow> rows(store::AuditFilter filter = {}) {
    log_->settle(30);
    filter.limit = 100'000;
    const auto rows = store_->read(store::read_audit, filter);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows.value_or(std::vector<store::AuditRow>{});
  }

  store::TempFolder folder_;
  std::string file_ = folder_.file("audit.jsonl");
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, AWriteHasItsBeginBeforeAndItsOutcomeAfterwards) {
  open();
  const Act act = act_of("Control.CancelRun");
  const auto call = log_->begin(act);
  ASSERT_TRUE(call) << call.error().message;
  auto begun = rows();
  ASSERT_THAT(begun, SizeIs(1));
  EXPECT_EQ(begun[0].outcome, "begun");
  log_->end(*call, act, fail(Code::kNotFound, "run r1: not found"));
  const auto ended = rows();
  ASSERT_THAT(ended, SizeIs(1)) << "both rows are one call";
  EXPECT_EQ(ended[0].who, "ann");
  EXPECT_EQ(ended[0].role, "operator");
  EXPECT_EQ(ended[0].address, "ipv4:192.0.2.1:7");
  EXPECT_EQ(ended[0].rpc, "Control.CancelRun");
  EXPECT_EQ(ended[0].subject, "r1");
  EXPECT_EQ(ended[0].outcome, "not_found");
  EXPECT_EQ(ended[0].reason, "run r1: not found");
  EXPECT_EQ(ended[0].at, kNow);
  EXPECT_FALSE(ended[0].refused);
}

TEST_F(AuditLogTest, CallsOfTwoProcessesAreNotTakenForOne) {
  open();
  const auto first = log_->begin(act_of("Control.StartRun"));
  ASSERT_TRUE(first);
  log_.reset();
  store_.reset();
  open();
  const auto second = log_->begin(act_of("Control.StartRun"));
  ASSERT_TRUE(second);
  log_->end(*second, act_of("Control.StartRun"), {});
  EXPECT_THAT(rows(), ElementsAre(Field(&store::AuditRow::outcome, "ok"),
                                  Field(&store::AuditRow::outcome, "begun")));
}

TEST_F(AuditLogTest, ALineOfJsonIsWrittenForEachRow) {
  open();
  const Act act = act_of("Archive.Prune", "point_days=1");
  log_->end(log_->begin_urgent(act), act, {});
  log_->refused(act, {Code::kPermissionDenied, "bob: \"no\""});
  log_->did("retention", "3 rows");
  log_.reset();  // writes what waits
  const std::string lines = read(file_);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 4) << lines;
  EXPECT_THAT(lines, HasSubstr(R"({"at":"2025-11-24T16:00:00)"));
  EXPECT_THAT(lines,
              HasSubstr(R"("who":"ann","role":"operator","address":"ipv4:192.0.2.1:7",)"
                        R"("rpc":"Archive.Prune","subject":"point_days=1","outcome":"begun")"));
  EXPECT_THAT(lines, HasSubstr(R"("outcome":"permission_denied","reason":"bob: \"no\"",)"
                               R"("refused":true,"count":1})"));
  EXPECT_THAT(lines, HasSubstr(R"("who":"controller","role":"controller","address":"",)"
                               R"("rpc":"retention","subject":"3 rows","outcome":"ok")"));
  struct stat file {};
  ASSERT_EQ(::stat(file_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0137, 0U) << "it names people";
}

TEST_F(AuditLogTest, LogrotateMovesTheFileAndAReopenBeginsANewOne) {
  open();
  log_->did("one", "");
  while (read(file_).empty()) std::this_thread::yield();
  std::filesystem::rename(file_, file_ + ".1");
  ASSERT_TRUE(log_->reopen());
  log_->did("two", "");
  log_.reset();
  EXPECT_THAT(read(file_ + ".1"), HasSubstr("\"one\""));
  EXPECT_THAT(read(file_), HasSubstr("\"two\""));
  EXPECT_THAT(read(file_), Not(HasSubstr("\"one\"")));
}

TEST_F(AuditLogTest, AReopenThatFailsKeepsTheOldFile) {
  std::filesystem::create_directory(folder_.file("logs"));
  file_ = folder_.file("logs/audit.jsonl");
  open();
  std::filesystem::rename(folder_.file("logs"), folder_.file("moved"));
  const Status reopened = log_->reopen();
  ASSERT_FALSE(reopened);
  EXPECT_THAT(reopened.error().message, HasSubstr("audit log " + file_ + ": open: No such file"));
  log_->did("one", "");
  log_.reset();
  EXPECT_THAT(read(folder_.file("moved/audit.jsonl")), HasSubstr("\"one\""));
}

TEST_F(AuditLogTest, APathThatCannotBeAFileIsRefusedAtTheStart) {
  store_ = store::open_store(folder_.file("db"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  const int reader = ::open(folder_.file("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  for (const auto& [file, text] :
       {std::pair{folder_.file("pipe"), "neither a file nor a device"},
        {folder_.file("none/audit.jsonl"), "open: No such file or directory"},
        {folder_.file(""), "open: Is a directory"}}) {
    const auto refused = AuditLog::open(*store_, {.file = file});
    ASSERT_FALSE(refused) << file;
    EXPECT_THAT(refused.error().message, HasSubstr(text));
  }
  ::close(reader);
}

TEST_F(AuditLogTest, ADeviceThatIsFullLosesLinesAndNoRows) {
  file_ = "/dev/full";
  open();
  const auto call = log_->begin(act_of("Control.StartRun"));
  ASSERT_TRUE(call) << call.error().message;
  log_->end(*call, act_of("Control.StartRun"), {});
  EXPECT_THAT(rows(), SizeIs(1));
}

TEST_F(AuditLogTest, AFloodOfRefusedCallsMakesSevenRows) {
  open();
  int with_row = 0;
  for (int i = 0; i < 20'000; ++i)
    with_row += log_->refused(act_of("Control.StartRun", fmt::format("call {}", i)),
                              {Code::kPermissionDenied, "no"})
                    ? 1
                    : 0;
  EXPECT_EQ(with_row, 6);
  EXPECT_THAT(rows({.refused = true}), SizeIs(6));
  log_.reset();
  ASSERT_TRUE(store_->flush());
  const auto all = store_->read(store::read_audit, store::AuditFilter{.limit = 100});
  ASSERT_THAT(*all, SizeIs(7));
  EXPECT_EQ(all->front().count, 19'994U);
  EXPECT_EQ(std::ranges::count(read(file_), '\n'), 7);
}

// One page more than the schema has: the database is as good as full.
TEST_F(AuditLogTest, OnAFullDiskAWriteIsNotBegunButAnUrgentOneIs) {
  open();
  const Act act = act_of("Control.StartRun");
  log_.reset();
  store_.reset();
  store::StoreOptions full;
  {
    auto database =
        store::Connection::open(folder_.file("db"), store::Connection::Mode::kCreate, 1);
    ASSERT_TRUE(database);
    full.wait_seconds = 1;  // the rows that wait for room are given up at the end
    full.max_pages = *database->integer("PRAGMA page_count").value();
  }
  open(full);
  Status stored;
  int calls = 0;
  for (; stored && calls < 10'000; ++calls) {
    const auto begun = log_->begin(act);
    if (!begun) stored = tl::unexpected(begun.error());
  }
  ASSERT_FALSE(stored) << "never full";
  EXPECT_EQ(stored.error().code, Code::kResourceExhausted);
  const Act cancel = act_of("Control.CancelRun");
  log_->end(log_->begin_urgent(cancel), cancel, {});
  EXPECT_FALSE(log_->begin(act)) << "still full";
  log_.reset();
  EXPECT_THAT(read(file_), HasSubstr("CancelRun")) << "the line has it at once";
}

TEST_F(AuditLogTest, RowsOfAFloodDoNotPileUpWhileNothingCanBeStored) {
  open();
  auto other = store::Connection::open(folder_.file("db"), store::Connection::Mode::kCreate, 1);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->script("BEGIN IMMEDIATE"));
  for (int peer = 0; peer < 5'000; ++peer)
    for (int i = 0; i < 3; ++i) {
      Act act = act_of("Control.StartRun");
      act.caller.who = fmt::format("peer{}", peer);
      log_->refused(act, {Code::kPermissionDenied, "no"});
    }
  ASSERT_TRUE(other->script("COMMIT"));
  log_.reset();
  ASSERT_TRUE(store_->flush());
  const auto stored = store_->read(store::read_audit, store::AuditFilter{.limit = 100'000});
  std::uint64_t calls = 0;
  for (const store::AuditRow& row : *stored) calls += row.count;
  EXPECT_EQ(calls, 15'000U) << "none is forgotten";
  EXPECT_LE(stored->size(), (Refusals::kMaxWindows + 1) * (Refusals::kRows + 1));
}

TEST_F(AuditLogTest, StrangersTakeNoRowsOfPeers) {
  open();
  for (int stranger = 0; stranger < 1'000; ++stranger) {
    Act act = act_of("http.get", "/metrics");
    act.caller = {.who = "unknown",
                  .address = fmt::format("ipv6:%5B2001:db8::{:x}%5D:7", stranger)};
    log_->refused_stranger(act, {Code::kUnauthenticated, "no"});
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(log_->refused(act_of("Control.StartRun"), {Code::kPermissionDenied, "no"}));
  EXPECT_THAT(rows({.who = "ann"}), SizeIs(3)) << "none among the others";
  log_.reset();
  ASSERT_TRUE(store_->flush());
  std::uint64_t calls = 0;
  const auto stored = store_->read(store::read_audit, store::AuditFilter{.limit = 100'000});
  for (const store::AuditRow& row : *stored) calls += row.count;
  EXPECT_EQ(calls, 1'003U) << "none is forgotten";
  EXPECT_LE(stored->size(), 3 + (Refusals::kMaxStrangers + 1) * (Refusals::kRows + 1));
}

TEST_F(AuditLogTest, TextsOfPeersAreCleanedAndCut) {
  open();
  Act act = act_of("Control.StartRun", std::string(5'000'000, 'x'));
  act.caller.who = "bob\x1b[31m\n2025 forged line \xff";
  log_->refused(act, {Code::kPermissionDenied, std::string("\0\x7f", 2)});
  const auto stored = rows();
  ASSERT_THAT(stored, SizeIs(1));
  EXPECT_EQ(stored[0].who, "bob\\x1b[31m\\x0a2025 forged line \\xff");
  EXPECT_EQ(stored[0].subject.size(), AuditLog::kMaxTextBytes);
  EXPECT_EQ(stored[0].reason, "\\x00\\x7f");
  log_.reset();
  for (const char c : read(file_)) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(CleanText, KeepsWordsAndEscapesWhatSteersATerminal) {
  EXPECT_EQ(clean_text("Jürgen 日本"), "Jürgen 日本");
  EXPECT_EQ(clean_text("\u009b2J"), "\\xc2\\x9b2J") << "a C1 control";
  EXPECT_EQ(clean_text("a\u202eb"), "a\\xe2\\x80\\xaeb") << "turns the direction of text";
  EXPECT_EQ(clean_text("\xc3"), "\\xc3");
  EXPECT_EQ(clean_text(std::string(10, 'x'), 8), "xxxxx...");
  EXPECT_EQ(clean_text("日本日本", 9), "日本...");
  EXPECT_EQ(clean_text(std::string(8, 'x'), 8), "xxxxxxxx");
}

TEST(CodeNames, AreThoseOfTheNumbers) {
  EXPECT_EQ(name_of_code(0), "ok");
  EXPECT_EQ(name_of_code(static_cast<int>(Code::kPermissionDenied)), "permission_denied");
  EXPECT_EQ(name_of_code(static_cast<int>(Code::kUnauthenticated)), "unauthenticated");
  EXPECT_EQ(name_of_code(99), "unknown");
}

}  // namespace
}  // namespace railgauge::audit
