// rpm's database, made here as rpm lays it out; synthetic.
#include "agent/inventory/sources/rpm.h"

#include <sqlite3.h>

#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/inventory/sources/sources.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

std::string header(const std::string& name, const std::string& version,
                   const std::string& release) {
  // An entry of another type first, as rpm's region is.
  std::string entries = big_endian(63) + big_endian(7) + big_endian(0) + big_endian(16);
  std::string data(16, 'r');
  std::uint32_t tag = 1000;
  for (const std::string& text : {name, version, release}) {
    entries += big_endian(tag++) + big_endian(6) +
               big_endian(static_cast<std::uint32_t>(data.size())) + big_endian(1);
    data += text + '\0';
  }
  return big_endian(4) + big_endian(static_cast<std::uint32_t>(data.size())) + entries + data;
}

class RpmTest : public testing::Test {
 protected:
  void script(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
  }
  void SetUp() override {
    root_.write("var/lib/rpm/.rpm.lock", "");
    ASSERT_EQ(sqlite3_open(path().c_str(), &database_), SQLITE_OK);
    script(
        "CREATE TABLE Packages (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL);"
        "CREATE TABLE Name (key TEXT NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL)");
  }
  void TearDown() override { close(); }
  void close() {
    sqlite3_close(database_);
    database_ = nullptr;
  }
  void add(const std::string& name, const std::string& blob) {
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database_, "INSERT INTO Packages (blob) VALUES (?1)", -1,
                                 &statement, nullptr),
              SQLITE_OK);
    sqlite3_bind_blob(statement, 1, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC);
    ASSERT_EQ(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    script("INSERT INTO Name VALUES ('" + name + "', last_insert_rowid(), 0)");
  }
  std::string path() const { return root_ / "var/lib/rpm/rpmdb.sqlite"; }
  PackageFact read() {
    close();
    return read_rpm(
        NodeFiles({.root = root_.path()}),
        [](std::string_view name) { return name.starts_with("lib"); }, 100);
  }

  TempDir root_;
  sqlite3* database_ = nullptr;
};

TEST_F(RpmTest, TellsVersionsOfWhatIsWantedAlone) {
  add("libnccl", header("libnccl", "2.21.5", "1+cuda12.4"));
  add("bash", header("bash", "5.1.8", "9.el9"));
  // Its file lists follow behind what is read.
  add("libibverbs", header("libibverbs", "51.0", "1.el9") + std::string(300'000, 'f'));
  const PackageFact found = read();
  ASSERT_TRUE(found.is_known()) << found.reason;
  EXPECT_THAT(found.value,
              ElementsAre(Pair("libibverbs", "51.0-1.el9"), Pair("libnccl", "2.21.5-1+cuda12.4")));
  EXPECT_EQ(found.source, "/var/lib/rpm/rpmdb.sqlite");
}

TEST_F(RpmTest, ItStandsInWhereThereIsNoDpkg) {
  add("libnccl", header("libnccl", "2.21.5", "1"));
  close();
  Inventory inventory;
  const NodeFiles files({.root = root_.path()});
  read_packages(files)(inventory);
  EXPECT_TRUE(inventory.nccl.is("2.21.5-1")) << inventory.nccl.reason;
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal")) << "nothing is written";
  EXPECT_FALSE(std::filesystem::exists(path() + "-shm"));
}

TEST_F(RpmTest, TheLegacyPeerMemorysPackageIsKnownByItsNamesThere) {
  for (const char* name : {"nvidia_peer_memory", "nv_peer_mem", "nvidia-fabric-manager", "zsh"})
    add(name, header(name, "1.3", "0"));
  close();
  Inventory inventory;
  read_packages(NodeFiles({.root = root_.path()}))(inventory);
  EXPECT_THAT(inventory.packages.value,
              ElementsAre(Pair("nv_peer_mem", "1.3-0"), Pair("nvidia-fabric-manager", "1.3-0"),
                          Pair("nvidia_peer_memory", "1.3-0")));
  EXPECT_TRUE(inventory.fabric_manager.is("1.3-0"));
}

TEST_F(RpmTest, AHeaderThatIsNoneIsLeftOutAndTheOthersStay) {
  add("libbroken", "\xff\xff\xff\xff garbage");
  add("libgood", header("libgood", "1", "2"));
  EXPECT_THAT(read().value, ElementsAre(Pair("libgood", "1-2")));
}

TEST_F(RpmTest, ADatabaseThatIsNoneIsAnErrorInOneLine) {
  close();
  root_.write("var/lib/rpm/rpmdb.sqlite", std::string(8192, 'x'));
  const PackageFact found = read();
  EXPECT_EQ(found.state, FactState::kError);
  EXPECT_THAT(found.reason, HasSubstr("rpmdb.sqlite"));
  EXPECT_EQ(found.reason.find('\n'), std::string::npos);
}

TEST(Rpm, AnOlderFormatIsUnknownAndNoRpmIsAbsent) {
  const TempDir root;
  const auto state = [&] {
    return read_rpm(
               NodeFiles({.root = root.path()}), [](std::string_view) { return true; }, 9)
        .state;
  };
  EXPECT_EQ(state(), FactState::kAbsent);
  root.write("var/lib/rpm/Packages", "Berkeley");
  EXPECT_EQ(state(), FactState::kUnknown);
}

TEST(Rpm, AnyBytesAreAnsweredAndAHeaderCutAnywhereNeverLies) {
  const std::string whole = header("libnccl", "2.21.5", "1");
  std::mt19937 random(6);
  for (std::size_t size = 0; size <= whole.size(); ++size)
    if (const auto package = parse_rpm_header(whole.substr(0, size))) {
      EXPECT_EQ(package->name, "libnccl");
    }
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int edits = 1 + round % 4; edits > 0; --edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    static_cast<void>(parse_rpm_header(bytes));
  }
}

}  // namespace
}  // namespace railgauge::agent
