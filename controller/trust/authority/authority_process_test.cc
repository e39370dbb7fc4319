// A process that issues, renews and revokes is killed at each of its failpoints and at random
// instants. Afterwards the folder opens, each certificate has its key, no serial number is used
// twice, and each revocation that was acknowledged is in the list.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/authority/authority.h"
#include "controller/trust/authority/folder.h"
#include "controller/trust/authority/issue.h"
#include "controller/trust/revocation.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::IsEmpty;
using testing::IsSubsetOf;

// The acknowledged part of what killed processes did, over all of them.
struct Acknowledged {
  std::set<std::string> issued{};   // serial numbers
  std::set<std::string> revoked{};  // likewise
  bool is_twice = false;            // a serial number was issued a second time

  std::size_t size() const { return issued.size() + revoked.size(); }
};

// Runs in the child: one order after the other, each reported once it is acknowledged.
class Worker {
 public:
  Worker(std::string path, int round, int pipe)
      : path_(std::move(path)), round_(round), pipe_(pipe) {}

  void issue_two() {
    ++turn_;
    const auto issued =
        issue(path_, {.role = "agent", .names = {name('a'), name('b')}}, unix_now());
    check(issued.has_value());
    for (const char letter : {'a', 'b'}) report("issued", serial_in_place(name(letter)));
  }
  void renew_one() {
    check(renew(path_, {.names = {name('a')}, .new_key = true}, unix_now()).has_value());
    report("issued", serial_in_place(name('a')));
  }
  void revoke_one() { revoke_named('a'); }
  void revoke_other() { revoke_named('b'); }
  void revoke_named(char letter) {
    const auto revoked = revoke(path_, name(letter), kCrlDays, unix_now());
    check(revoked.has_value());
    for (const std::string& serial : revoked->serials) report("revoked", serial);
  }
  void write_list() { check(write_crl(path_, kCrlDays, unix_now()).has_value()); }

 private:
  static void check(bool ok) {
    if (!ok) _exit(3);
  }
  std::string name(char letter) const { return fmt::format("n{}-{}{}", round_, turn_, letter); }
  std::string serial_in_place(const std::string& name) const {
    const auto folder = Folder::open(path_, Folder::Use::kRead);
    check(folder.has_value());
    const auto certificate = parse_certificate(folder->read(name + ".crt").value_or(""));
    check(certificate.has_value());
    return certificate->id.serial;
  }
  void report(std::string_view act, const std::string& serial) const {
    const std::string line = fmt::format("{} {}\n", act, serial);
    check(::write(pipe_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }

  std::string path_;
  int round_;
  int pipe_;
  int turn_ = 0;
};

// A child process at work, until it is killed.
class Child {
 public:
  Child(const std::string& path, int round, const std::function<void(Worker&)>& work) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    process_ = ::fork();
    EXPECT_GE(process_, 0);
    if (process_ != 0) {
      ::close(ends_[1]);
      return;
    }
    Worker worker(path, round, ends_[1]);
    work(worker);
    _exit(4);  // nothing killed it
  }
  ~Child() { ::close(ends_[0]); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until so many lines have come, or the child has ended.
  void await(int lines) {
    while (std::ranges::count(text_, '\n') < lines && take()) continue;
  }
  void kill() const { ::kill(process_, SIGKILL); }
  // Waits for the end, and adds what was acknowledged.
  void end(Acknowledged& all) {
    while (take()) continue;
    int status = 0;
    ASSERT_EQ(::waitpid(process_, &status, 0), process_);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    std::istringstream lines(text_);
    for (std::string act, serial; lines >> act >> serial;) {
      if (act == "revoked")
        all.revoked.insert(serial);
      else if (!all.issued.insert(serial).second)
        all.is_twice = true;
    }
  }

 private:
  bool take() {
    std::array<char, 4'096> part{};
    const ssize_t got = ::read(ends_[0], part.data(), part.size());
    text_.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
  }

  std::string text_;
  std::array<int, 2> ends_{};
  pid_t process_ = -1;
};

std::set<std::string> listed(const AuthorityFolder& folder) {
  std::set<std::string> serials;
  const auto list = parse_revocations(folder.read("crl.pem"), folder.read("ca.crt"), unix_now());
  EXPECT_TRUE(list) << list.error().message;
  if (list)
    for (const CertificateId& id : list->revoked) serials.insert(id.serial);
  return serials;
}

// As the folder is right after the kill, before anybody writes to it.
void expect_nothing_lost(const AuthorityFolder& folder, const Acknowledged& all) {
  EXPECT_FALSE(all.is_twice);
  const auto shown = show(folder.path(), unix_now());
  ASSERT_TRUE(shown) << shown.error().message;
  std::map<std::string, int> uses;
  std::set<std::string> known;
  for (const ShownCertificate& one : *shown) {
    if (!one.serial.empty()) ++uses[one.serial];
    known.insert(one.serial);
    EXPECT_NE(one.state, "damaged") << one.name;
    EXPECT_NE(one.state, "missing") << one.name;
  }
  EXPECT_TRUE(std::ranges::all_of(uses, [](const auto& use) { return use.second == 1; }));
  EXPECT_THAT(all.issued, IsSubsetOf(known));
  EXPECT_THAT(all.revoked, IsSubsetOf(listed(folder)));
}

// Opening to write finishes or discards what the killed process had begun.
void expect_whole(const AuthorityFolder& folder) {
  const auto opened = Folder::open(folder.path(), Folder::Use::kWrite);
  ASSERT_TRUE(opened) << opened.error().message;
  const std::string authority = folder.read("ca.crt");
  const auto index = opened->index();
  ASSERT_TRUE(index) << index.error().message;
  std::set<std::string> indexed;
  for (const IndexEntry& entry : *index) {
    EXPECT_TRUE(indexed.insert(entry.serial).second) << entry.serial;
    EXPECT_TRUE(opened->has(entry.file)) << entry.file << " is named and not there";
  }
  for (const std::string& name : opened->certificates()) {
    const std::string certificate = folder.read(name + ".crt");
    EXPECT_TRUE(check_issued(certificate, authority)) << name;
    const auto key = opened->read_secret(name + ".key");
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_TRUE(is_pair(certificate, *key)) << name;
    EXPECT_TRUE(name == "ca" || indexed.contains(folder.certificate(name).id.serial)) << name;
  }
  std::vector<std::string> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string file = entry.path().filename().string();
    const bool is_key_alone =
        file.ends_with(".key") && !opened->has(file.substr(0, file.size() - 4) + ".crt");
    if ((file.starts_with('.') && file != ".lock") || is_key_alone) leftovers.push_back(file);
  }
  EXPECT_THAT(leftovers, IsEmpty());
}

#ifdef RAILGAUGE_FAILPOINTS
using Order = void (Worker::*)();
struct Place {
  const char* failpoint;
  Order order;
};

TEST(AuthorityProcess, KilledAtEachPlaceOfEachOrderItLosesNothing) {
  const std::vector<Place> places{
      {"pki.key_staged", &Worker::issue_two}, {"pki.staged", &Worker::issue_two},
      {"pki.drafted", &Worker::issue_two},    {"pki.indexed", &Worker::issue_two},
      {"pki.key_placed", &Worker::issue_two}, {"pki.key_staged", &Worker::renew_one},
      {"pki.staged", &Worker::renew_one},     {"pki.drafted", &Worker::renew_one},
      {"pki.indexed", &Worker::renew_one},    {"pki.key_placed", &Worker::renew_one},
      {"pki.staged", &Worker::revoke_one},    {"pki.drafted", &Worker::revoke_one},
      {"pki.indexed", &Worker::revoke_one},   {"pki.revoked", &Worker::revoke_one},
      {"pki.drafted", &Worker::write_list}};
  const AuthorityFolder folder;
  Acknowledged all;
  int round = 0;
  for (const Place& place : places) {
    SCOPED_TRACE(fmt::format("round {}, {}", ++round, place.failpoint));
    const std::size_t before = all.size();
    Child child(folder.path(), round, [&place](Worker& worker) {
      worker.issue_two();
      worker.revoke_other();
      ::setenv("RAILGAUGE_FAILPOINT", place.failpoint, 1);
      (worker.*place.order)();
    });
    child.end(all);
    EXPECT_EQ(all.size(), before + 3) << "two issued, one revoked";
    expect_nothing_lost(folder, all);
    expect_whole(folder);
    expect_nothing_lost(folder, all);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(AuthorityProcess, ARevocationKilledBeforeItsListIsShownAndEndsWellWhenRunAgain) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  const std::string serial = folder.certificate("n1").id.serial;
  const auto state_of_list = [&folder] {
    return show(folder.path(), unix_now()).value_or(std::vector<ShownCertificate>(2)).at(1).state;
  };
  Acknowledged all;
  Child(folder.path(), 0, [&folder](Worker&) {
    ::setenv("RAILGAUGE_FAILPOINT", "pki.revoked", 1);
    static_cast<void>(revoke(folder.path(), "n1", kCrlDays, unix_now()));
  }).end(all);
  EXPECT_THAT(listed(folder), IsEmpty());
  EXPECT_EQ(state_of_list(), "stale");
  ASSERT_TRUE(revoke(folder.path(), "n1", kCrlDays, unix_now()));
  EXPECT_THAT(listed(folder), testing::ElementsAre(serial));
  EXPECT_EQ(state_of_list(), "valid");
}

TEST(AuthorityProcess, AnAuthorityKilledWhileItIsMadeIsMadeByTheNextCall) {
  for (const char* place : {"pki.drafted", "pki.authority_key"}) {
    SCOPED_TRACE(place);
    const AuthorityFolder parent;
    const std::string path = parent.path("new");
    Acknowledged all;
    Child(path, 0, [&](Worker&) {
      ::setenv("RAILGAUGE_FAILPOINT", place, 1);
      static_cast<void>(init_authority(path, kAuthorityDays, unix_now()));
    }).end(all);
    const std::string key = parent.read("new/ca.key");
    EXPECT_EQ(issue(path, {.role = "agent", .names = {"n1"}}, unix_now()).error().code,
              Code::kNotFound);
    ASSERT_TRUE(init_authority(path, kAuthorityDays, unix_now()));
    EXPECT_TRUE(key.empty() || parent.read("new/ca.key") == key) << "the key was there";
    EXPECT_TRUE(issue(path, {.role = "agent", .names = {"n1"}}, unix_now()));
    EXPECT_TRUE(
        parent.shell("openssl verify -crl_check -CRLfile new/crl.pem -CAfile new/ca.crt "
                     "new/n1.crt"))
        << parent.read("log");
  }
}
#endif

TEST(AuthorityProcess, KilledAtRandomInstantsItLosesNothing) {
  const char* wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  const bool full = wanted != nullptr && std::string_view(wanted) == "1";
  std::mt19937 random(20'26);
  std::uniform_int_distribution<int> lines(1, 5);  // issued, issued, issued, revoked, revoked
  std::uniform_int_distribution<int> pause_us(0, 50'000);
  const AuthorityFolder folder;
  Acknowledged all;
  for (int round = 0; round < (full ? 60 : 10); ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    Child child(folder.path(), round, [](Worker& worker) {
      for (;;) {
        worker.issue_two();
        worker.renew_one();
        worker.revoke_one();
      }
    });
    child.await(lines(random));
    ::usleep(static_cast<useconds_t>(pause_us(random)));
    child.kill();
    child.end(all);
    expect_nothing_lost(folder, all);
    expect_whole(folder);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(all.issued.size(), 10U);
}

}  // namespace
}  // namespace railgauge::trust
