// A private PostgreSQL cluster of a test: made in a temporary folder, reached by a unix socket
// alone, run by an ordinary user, gone after the test.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/mirror/pq/connection.h"

namespace railgauge::mirror {

// The folder of the newest installed server's programs; "" without one.
inline std::string postgres_programs() {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    const std::string folder = entry.path().string() + "/bin";
    if (std::filesystem::exists(folder + "/initdb", ignored)) newest = std::max(newest, folder);
  }
  return newest;
}

class PostgresCluster {
 public:
  // `settings`: more options of the server, as "-c fsync=on".
  explicit PostgresCluster(std::string settings = "-c fsync=off",
                           const std::string& parent = std::filesystem::temp_directory_path())
      : programs_(postgres_programs()), settings_(std::move(settings)) {
    std::string name = parent + "/rg_pg_XXXXXX";
    folder_ = mkdtemp(name.data());
    if (is_root()) must(fmt::format("chown {0}:{0} {1}", kUser, folder_));
    must(
        fmt::format("{} {}/initdb -D {}/data -U railgauge --auth=trust --no-sync -E UTF8 "
                    "--no-locale >{}/initdb.log 2>&1",
                    as_user(), programs_, folder_, folder_));
    start();
  }
  ~PostgresCluster() {
    stop();
    std::filesystem::remove_all(folder_);
  }
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // Waits until the server answers. It ends with the thread that starts it, whatever ends that.
  void start() {
    const std::string program = programs_ + "/postgres";
    const std::string data = folder_ + "/data";
    const std::string log = folder_ + "/log";
    const std::string command =
        fmt::format("exec {} -D {} -k {} -c listen_addresses='' {}", program, data, folder_,
                    settings_);  // a shell parts the settings
    server_ = -1;
    for (int look = 0; look < kStartLooks; ++look) {
      // A process of a server that was killed may hold its shared memory for a moment: the next one
      // ends then, and another is started.
      if (server_ < 0 && (server_ = ::fork()) == 0) run_server(command, log);
      if (pq::Connection::open({.url = url("postgres"), .connect_seconds = 5})) return;
      if (::waitpid(server_, nullptr, WNOHANG) == server_) server_ = -1;
      ::usleep(kLookMicroseconds);
    }
    must(fmt::format("cat {} >&2; false", log));
  }
  // At once, without a checkpoint.
  void stop() { end(SIGQUIT); }
  // kill -9 of the whole server; its socket's lock stays behind, as after a crash.
  void kill() {
    // The server's own group: it is the leader of a session.
    if (server_ > 0) ::kill(-server_, SIGKILL);
    end(SIGKILL);
  }
  // The address of a new database.
  std::string make_database(const std::string& name) {
    auto server = pq::Connection::open({.url = url("postgres")});
    EXPECT_TRUE(server) << server.error().message;
    const Status made = (*server)->execute("CREATE DATABASE " + name);
    EXPECT_TRUE(made) << made.error().message;
    return url(name);
  }
  [[nodiscard]] std::string url(const std::string& database) const {
    return fmt::format("postgres://railgauge@/{}?host={}", database, folder_);
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  // An ordinary user of any Debian: PostgreSQL refuses to run as root.
  static constexpr int kUser = 65'534;
  static constexpr int kStartLooks = 600;
  static constexpr int kLookMicroseconds = 50'000;
  static bool is_root() { return ::geteuid() == 0; }
  static std::string as_user() {
    if (!is_root()) return "";
    return fmt::format("setpriv --reuid={0} --regid={0} --clear-groups", kUser);
  }
  static void must(const std::string& command) {
    if (std::system(command.c_str()) == 0) return;
    ADD_FAILURE() << "failed: " << command;
    std::abort();
  }

  void end(int signal) {
    if (server_ <= 0) return;
    ::kill(server_, signal);
    ::waitpid(server_, nullptr, 0);
    server_ = -1;
  }
  // In the child: only calls that a process with one thread may make after a fork. The kernel
  // forgets the signal of a parent's death when the user changes, so that comes first.
  [[noreturn]] static void run_server(const std::string& command, const std::string& log) {
    ::setsid();
    const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    const bool is_other = !is_root() || (::setgroups(0, nullptr) == 0 && ::setgid(kUser) == 0 &&
                                         ::setuid(kUser) == 0);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (is_other && ::getppid() != 1)
      ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }

  pid_t server_ = -1;
  std::string programs_;
  std::string settings_;
  std::string folder_;
};

}  // namespace railgauge::mirror
