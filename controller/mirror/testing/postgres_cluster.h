// A private PostgreSQL cluster of a test: made in a temporary folder, reached by a unix socket
// alone, run by an ordinary user, gone after the test.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

  // Waits until the server answers.
  void start() {
    must(
        fmt::format("{} {}/pg_ctl -D {}/data -l {}/log -w -t 60 -o \"-k {} -c listen_addresses='' "
                    "{}\" start >/dev/null 2>&1",
                    as_user(), programs_, folder_, folder_, folder_, settings_));
  }
  void stop() {
    static_cast<void>(std::system(fmt::format("{} {}/pg_ctl -D {}/data -m immediate -w stop "
                                              ">/dev/null 2>&1",
                                              as_user(), programs_, folder_)
                                      .c_str()));
  }
  // kill -9 of the whole server; its socket's lock stays behind, as after a crash.
  void kill() {
    const pid_t server = pid();
    // The server's own group: pg_ctl starts it as a leader of a session.
    ::kill(-server, SIGKILL);
    ::kill(server, SIGKILL);
    for (int i = 0; i < 500 && ::kill(server, 0) == 0; ++i) ::usleep(10'000);
  }
  [[nodiscard]] pid_t pid() const {
    std::ifstream file(folder_ + "/data/postmaster.pid");
    pid_t server = 0;
    file >> server;
    return server;
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

  std::string programs_;
  std::string settings_;
  std::string folder_;
};

}  // namespace railgauge::mirror
