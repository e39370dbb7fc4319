// The keeper as a real process: when it has ended, all processes that its program left are gone, in
// whatever groups and sessions.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "kernels/core/base/landlock.h"
#include "kernels/core/base/result.h"

namespace railgauge::launch {
namespace {

constexpr std::chrono::seconds kPatience(30);

std::string shim() {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  RG_CHECK(build != nullptr);
  return std::string(build) + "/bin/railgauge-launch-shim";
}

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "keeper_test_XXXXXX").string();
    RG_CHECK(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // The number in a file that a shell puts there in one step; waits for it.
  [[nodiscard]] pid_t number(const std::string& name) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!std::filesystem::exists(path / name) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pid_t value = 0;
    std::ifstream(path / name) >> value;
    return value;
  }
  std::filesystem::path path;
};

// A keeper over `sh -c script` in the folder; `options` are those of --confine.
pid_t start(const Folder& folder, const std::string& script, const char* grace_ms,
            const std::vector<std::string>& options = {}) {
  std::vector<std::string> words{shim(), "--keep", std::to_string(::getpid()), grace_ms};
  words.insert(words.end(), options.begin(), options.end());
  for (const std::string& word :
       {std::string("/bin/sh"), std::string("sh"), std::string("-c"), script})
    words.push_back(word);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::chdir(folder.path.c_str()) != 0) ::_exit(126);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

int status_of(pid_t pid) {
  int status = 0;
  RG_CHECK(::waitpid(pid, &status, 0) == pid);
  return status;
}

bool gone(pid_t pid) { return pid > 0 && ::kill(pid, 0) != 0; }

void write(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  RG_CHECK(::chmod(path.c_str(), mode) == 0);
}

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A process in a session of its own whose parent ends at once.
constexpr const char* kStray = "setsid sh -c 'echo $$ >s; mv s stray; exec sleep 600' & ";
constexpr const char* kWait = "while [ ! -e stray ]; do sleep 0.01; done; ";

TEST(Keeper, EndsAsItsProgramDid) {
  const Folder folder;
  const int code = status_of(start(folder, "exit 7", "1000"));
  EXPECT_TRUE(WIFEXITED(code) && WEXITSTATUS(code) == 7) << code;
  const int killed = status_of(start(folder, "kill -USR1 $$", "1000"));
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGUSR1) << killed;
}

TEST(Keeper, LeavesNothingOfWhatItsProgramLeft) {
  const Folder folder;
  const int code = status_of(start(folder, std::string(kStray) + kWait + "exit 3", "1000"));
  EXPECT_EQ(WEXITSTATUS(code), 3);
  EXPECT_TRUE(gone(folder.number("stray")));
}

TEST(Keeper, KillsWhatDoesNotHear) {
  const Folder folder;
  const pid_t keeper = start(folder,
                             std::string("trap '' TERM; ") + kStray + kWait +
                                 "echo $$ >d; mv d deaf; while :; do sleep 600; done",
                             "50");
  const pid_t deaf = folder.number("deaf");
  ASSERT_GT(deaf, 0);
  ::kill(keeper, SIGTERM);
  const int status = status_of(keeper);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(gone(deaf));
  EXPECT_TRUE(gone(folder.number("stray")));
}

TEST(Keeper, EndsWithItsParent) {
  const Folder folder;
  const pid_t middle = ::fork();
  if (middle == 0) {
    static_cast<void>(start(folder, "echo $$ >m; mv m main; exec sleep 600", "50"));
    ::pause();
    ::_exit(0);
  }
  const pid_t main = folder.number("main");
  ASSERT_GT(main, 0);
  ::kill(middle, SIGKILL);
  status_of(middle);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!gone(main) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(gone(main));
}

TEST(Keeper, QuitKillsAllWithoutGrace) {
  const Folder folder;
  const pid_t keeper = start(folder,
                             std::string("trap '' TERM; ") + kStray + kWait +
                                 "echo $$ >d; mv d deaf; while :; do sleep 600; done",
                             "3600000");
  ASSERT_GT(folder.number("deaf"), 0);
  ::kill(keeper, SIGQUIT);
  const int status = status_of(keeper);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(gone(folder.number("stray")));
}

// Each process of the chain is in a session of its own, starts the next one and ends. The number
// bounds it should the keeper lose.
constexpr const char* kChain =
    "#!/bin/sh\n[ $1 -gt 0 ] || exit 0\necho $1 >>link\nsetsid \"$0\" $(($1 - 1)) &\n";

// How far the chain is when its keeper has ended, and a moment later.
std::pair<std::string, std::string> ends_of_chain(const std::vector<std::string>& options) {
  const Folder folder;
  write(folder.path / "chain", kChain, 0700);
  std::filesystem::create_directory(folder.path / "own");
  const pid_t keeper = start(folder, "cd own; ../chain 20000 & sleep 0.3", "100", options);
  EXPECT_EQ(WEXITSTATUS(status_of(keeper)), 0);
  const std::string at_the_end = content(folder.path / "own/link");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return {at_the_end, content(folder.path / "own/link")};
}

TEST(Keeper, CatchesAChainThatForksAway) {
  const auto [end, later] = ends_of_chain({});
  EXPECT_NE(end, "");
  EXPECT_EQ(end, later);
}

TEST(ConfinedKeeper, CatchesAChainThatForksAway) {
  const auto [end, later] = ends_of_chain({"--confine"});
  EXPECT_NE(end, "");
  EXPECT_EQ(end, later);
}

TEST(ConfinedKeeper, EndsAsItsProgramDidAndLeavesNothing) {
  const Folder folder;
  const int code =
      status_of(start(folder, std::string(kStray) + kWait + "exit 3", "1000", {"--confine"}));
  EXPECT_EQ(WEXITSTATUS(code), 3);
  EXPECT_TRUE(gone(folder.number("stray")));
  const int killed = status_of(start(folder, "kill -USR1 $$", "1000", {"--confine"}));
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGUSR1) << killed;
}

class Hidden : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_version() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* name : {"etc/tls", "state", "out", "etc/other"})
      std::filesystem::create_directories(folder_.path / name);
    write(folder_.path / "etc/tls/node.key", "secret", 0600);
    write(folder_.path / "etc/tls/node.key.old", "older secret", 0600);
    write(folder_.path / "etc/tls/ca.crt", "public", 0644);
    write(folder_.path / "etc/other/file", "public", 0600);
    write(folder_.path / "state/spool.db", "records", 0644);
    std::filesystem::create_symlink(folder_.path / "etc/tls/node.key", folder_.path / "out/link");
  }
  // Runs the script in folder out, which is beside the hidden ones; returns what it printed.
  std::string run(const std::string& script, const std::string& landlock = "on") {
    const pid_t keeper =
        start(folder_, "cd out; exec >said 2>&1; " + script, "1000",
              {"--confine", "--landlock", landlock, "--hide", folder_.path / "state", "--hide",
               folder_.path / "etc/tls/node.key", "--limit", "core=0", "--limit", "file=1000000"});
    status_of(keeper);
    return content(folder_.path / "out/said");
  }
  const Folder folder_;
};

TEST_F(Hidden, IsUnreadableByEveryPath) {
  EXPECT_EQ(run("for f in ../etc/tls/node.key ../etc/tls/node.key.old link ../state/spool.db "
                "/proc/self/root$PWD/../state/spool.db; do cat $f 2>&1 | grep -c denied; done"),
            "1\n1\n1\n1\n1\n");
}

TEST_F(Hidden, IsReadableWhereTheAgentTurnsLandlockOffAndTheRestHolds) {
  EXPECT_EQ(run("cat ../etc/tls/node.key; ulimit -c; grep NoNewPrivs /proc/self/status; "
                "setsid sleep 100 & echo $! >child",
                "off"),
            "secret0\nNoNewPrivs:\t1\n");
  const pid_t child = std::atoi(content(folder_.path / "out/child").c_str());
  ASSERT_GT(child, 0);
  EXPECT_NE(::kill(child, 0), 0) << "the child is left";
}

TEST_F(Hidden, CannotBeMovedReplacedOrLinked) {
  run("mv ../etc/tls/node.key taken; ln ../etc/tls/node.key taken; rm -f ../etc/tls/node.key; "
      "mv ../state elsewhere; mv ../etc/tls ../etc/moved; echo x >../etc/tls/node.key; "
      "echo x >../state/spool.db; : >../state/new; rm -rf ../state");
  EXPECT_EQ(content(folder_.path / "etc/tls/node.key"), "secret");
  EXPECT_EQ(content(folder_.path / "state/spool.db"), "records");
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "state/new"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "out/taken"));
}

TEST_F(Hidden, LeavesEverythingElseUsable) {
  EXPECT_EQ(run("cat ../etc/tls/ca.crt ../etc/other/file; echo new >a; mv a b; cat b; "
                "d=$TMPDIR/x; mkdir $d && echo temporary >$d/y && mv $d/y b && cat b; ls ../state"),
            "publicpublicnew\ntemporary\nspool.db\n");
}

TEST_F(Hidden, GivesAFolderOfItsOwnForTemporaryFiles) {
  const std::string folder = run("echo kept >$TMPDIR/file; printf %s $TMPDIR");
  EXPECT_NE(folder, "");
  EXPECT_NE(folder, std::filesystem::temp_directory_path());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Hidden, BoundsFilesAndCoresAndTakesPrivileges) {
  EXPECT_EQ(run("ulimit -c; ulimit -Hc; grep NoNewPrivs /proc/self/status; "
                "sh -c 'head -c 2000000 /dev/zero >large; true' 2>/dev/null; stat -c %s large"),
            "0\n0\nNoNewPrivs:\t1\n1000000\n");
}

TEST_F(Hidden, CannotSignalTheKeeperNorItsParent) {
  if (landlock_version() < kLandlockOfSignals) GTEST_SKIP() << "this kernel has no scopes";
  EXPECT_EQ(run(std::string("kill -STOP $PPID 2>/dev/null; echo $?; kill -0 ") +
                std::to_string(::getpid()) + " 2>/dev/null; echo $?; cat /proc/$PPID/mem 2>&1 | " +
                "grep -c denied; cat /proc/" + std::to_string(::getpid()) +
                "/environ 2>&1 | grep -c denied"),
            "1\n1\n1\n1\n");
}

// The results of the calls that empty a file, in a process that lost them; "-" for success.
std::string results_of_truncation(const std::string& path) {
  const auto word_of = [](long result) {
    return result >= 0 ? std::string("- ") : std::string(strerrorname_np(errno)) + " ";
  };
  const int held = ::open(path.c_str(), O_RDWR);
  std::string said = word_of(::truncate(path.c_str(), 0));
  said += word_of(::open(path.c_str(), O_ACCMODE | O_TRUNC));
  said += word_of(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_ACCMODE | O_TRUNC));
  said += word_of(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), nullptr, 0));
  said += word_of(::syscall(SYS_io_uring_setup, 1, nullptr));
  const bool is_whole = std::filesystem::file_size(path) == 7;
  said += is_whole ? "whole " : "cut ";
  said += word_of(::open(path.c_str(), O_ACCMODE));
  said += word_of(::ftruncate(held, 3)) + word_of(::open(path.c_str(), O_WRONLY | O_TRUNC));
  return said;
}

TEST(Truncation, IsRefusedWhereLandlockDoesNotKnowIt) {
#if defined(__x86_64__) || defined(__aarch64__)
  const Folder folder;
  write(folder.path / "file", "content", 0600);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool refused = refuse_truncation().has_value();
    write(folder.path / "said",
          refused ? results_of_truncation(folder.path / "file") : std::string("no filter"), 0600);
    ::_exit(0);
  }
  status_of(pid);
  EXPECT_EQ(content(folder.path / "said"), "EACCES EACCES EACCES ENOSYS ENOSYS whole - - - ");
#else
  EXPECT_EQ(refuse_truncation().error().code, Code::kUnimplemented);
#endif
}

TEST(Keeper, SaysWhatItCannotStart) {
  const Folder folder;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string parent = std::to_string(::getppid());
    ::execl(shim().c_str(), "shim", "--keep", parent.c_str(), "50", "/nowhere/orted", "orted",
            nullptr);
    ::_exit(1);
  }
  EXPECT_EQ(WEXITSTATUS(status_of(pid)), 127);
}

TEST(Shim, RefusesWithoutATask) {
  for (const char* socket : {"", "/nowhere/socket"}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("RAILGAUGE_LAUNCH_SOCKET", socket, 1);
      ::execl(shim().c_str(), "shim", "192.0.2.1", "orted", nullptr);
      ::_exit(1);
    }
    EXPECT_EQ(WEXITSTATUS(status_of(pid)), 255);
  }
}

}  // namespace
}  // namespace railgauge::launch
