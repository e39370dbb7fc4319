// The keeper as a real process: when it has ended, all processes that its program left are gone, in
// whatever groups and sessions.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

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

// A keeper over `sh -c script` in the folder.
pid_t start(const Folder& folder, const std::string& script, const char* grace_ms) {
  const std::string parent = std::to_string(::getpid());
  const std::string program = shim();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::chdir(folder.path.c_str()) != 0) ::_exit(126);
  ::execl(program.c_str(), program.c_str(), "--keep", parent.c_str(), grace_ms, "/bin/sh", "sh",
          "-c", script.c_str(), nullptr);
  ::_exit(127);
}

int status_of(pid_t pid) {
  int status = 0;
  RG_CHECK(::waitpid(pid, &status, 0) == pid);
  return status;
}

bool gone(pid_t pid) { return pid > 0 && ::kill(pid, 0) != 0; }

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
