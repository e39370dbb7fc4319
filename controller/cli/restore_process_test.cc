// Ctrl-C and SIGTERM on `db restore` reach the program that restores. A copy of the real CLI finds
// a stand-in for railgauge-controller beside itself, which waits until it is ended; what the real
// one leaves behind when it is killed is tested in the store.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

constexpr int kPatienceMs = 60'000;

class Restore : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "railgauge_restore_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
    ASSERT_NE(build, nullptr) << "ctest sets it";
    std::filesystem::copy_file(std::string(build) + "/bin/railgauge", folder_ + "/railgauge");
    const std::string stand_in = folder_ + "/railgauge-controller";
    std::ofstream(stand_in) << "#!/bin/sh\necho \"$@\"\nexec sleep 600\n";
    std::filesystem::permissions(stand_in, std::filesystem::perms::owner_all);
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }

  // Starts `db restore`, whose stdout the stand-in inherits; what it says first.
  std::string start() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out_ = ends[0];
    const std::string program = folder_ + "/railgauge";
    const std::string errors = folder_ + "/err";
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
      ::execl(program.c_str(), program.c_str(), "db", "restore", "/b.db", "--database", "/d.db",
              nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string line;
    for (char next = 0; ::read(out_, &next, 1) == 1 && next != '\n';) line += next;
    return line;
  }

  int code_after(int signal) {
    ::kill(child_, signal);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // The stand-in holds the other end as long as it lives.
  bool stand_in_ended() const {
    pollfd wanted{.fd = out_, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, kPatienceMs) == 1 && (wanted.revents & POLLHUP) != 0;
  }

  std::string errors() const {
    std::ifstream file(folder_ + "/err");
    std::string line;
    std::getline(file, line);
    return line;
  }

  std::string folder_;
  pid_t child_ = -1;
  int out_ = -1;
};

TEST_F(Restore, CtrlCEndsTheProgramThatRestoresAndSaysHowItStands) {
  EXPECT_EQ(start(), "--restore=/b.db --database=/d.db");
  EXPECT_EQ(code_after(SIGINT), kExitInterrupted);
  EXPECT_TRUE(stand_in_ended());
  EXPECT_EQ(errors(),
            "railgauge: db restore: interrupted; the database is as it was, or the controller "
            "says what to do");
  ::close(out_);
}

TEST_F(Restore, SigtermEndsItAsTerminated) {
  EXPECT_EQ(start(), "--restore=/b.db --database=/d.db");
  EXPECT_EQ(code_after(SIGTERM), kExitTerminated);
  EXPECT_TRUE(stand_in_ended());
  ::close(out_);
}

}  // namespace
}  // namespace railgauge::cli
