// An authority in a folder of its own, for tests.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "controller/trust/authority/authority.h"

namespace railgauge::trust {

inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class AuthorityFolder {
 public:
  AuthorityFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_pki_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const auto made = init_authority(folder_.string(), kAuthorityDays, unix_now());
    EXPECT_TRUE(made) << made.error().message;
  }
  ~AuthorityFolder() { std::filesystem::remove_all(folder_); }
  AuthorityFolder(const AuthorityFolder&) = delete;
  AuthorityFolder& operator=(const AuthorityFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& file = "") const {
    return file.empty() ? folder_.string() : (folder_ / file).string();
  }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(path(file)).rdbuf();
    return text.str();
  }
  void issue(const std::string& role, const std::string& name,
             std::vector<std::string> hosts = {}) const {
    const auto issued = trust::issue(
        path(), {.role = role, .names = {name}, .hosts = std::move(hosts)}, unix_now());
    EXPECT_TRUE(issued) << issued.error().message;
  }
  [[nodiscard]] Certificate certificate(const std::string& name) const {
    const auto parsed = parse_certificate(read(name + ".crt"));
    EXPECT_TRUE(parsed) << name;
    return parsed.value_or(Certificate{});
  }
  // Runs in the folder; whether the command ended with 0.
  [[nodiscard]] bool shell(const std::string& command) const {
    const std::string line = "cd " + path() + " && (" + command + ") >log 2>&1";
    return std::system(line.c_str()) == 0;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace railgauge::trust
