#include "controller/deliver/targets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::deliver {
namespace {

constexpr std::size_t kMostTemplateBytes = 64U << 10U;

tl::unexpected<Error> wrong(std::string_view setting, const std::string& value,
                            const std::string& why) {
  return fail(Code::kInvalidArgument, fmt::format("--{} {}: {}", setting, in_quotes(value), why));
}

Result<std::string> read_file(std::string_view setting, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return wrong(setting, path, "it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return wrong(setting, path, "cannot be read: " + errno_words(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::string> first_line(std::string_view setting, const std::string& path) {
  struct stat file {};
  constexpr mode_t kEverybody = 07;
  if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & kEverybody) != 0)
    return wrong(
        setting, path,
        fmt::format("mode {:04o} opens a secret to everybody; chmod 640", file.st_mode & 07777U));
  std::string text = RG_TRY(read_file(setting, path));
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  if (text.empty()) return wrong(setting, path, "its first line is empty");
  return text;
}

// A URL of a chat program is a secret, so that it may be in a file of its own.
Result<http::Url> read_url(std::string_view setting, const std::string& value) {
  const std::string url = value.starts_with("/") ? RG_TRY(first_line(setting, value)) : value;
  auto parsed = http::parse_url(url);
  if (!parsed)
    return fail(Code::kInvalidArgument, fmt::format("--{}: {}", setting, parsed.error().message));
  return std::move(*parsed);
}

// Commas part addresses; a header takes no control character.
Status check_address(std::string_view setting, const std::string& value) {
  for (const char c : value)
    if (c < ' ' || c == '\x7f') return wrong(setting, value, "it has a control character");
  if (value.find('@') == std::string::npos && value.find_first_of(" <>") != std::string::npos)
    return wrong(setting, value, "an address such as ops@example.org is needed");
  return {};
}

}  // namespace

Status check_wishes(const Wishes& wishes) {
  const bool has_http = !wishes.webhook_url.empty() || !wishes.chat_url.empty();
  const auto lonely = [](std::string_view setting, std::string_view needed) {
    return fail(Code::kInvalidArgument, fmt::format("--{} needs --{}", setting, needed));
  };
  if (!has_http && !wishes.secret_file.empty()) return lonely("webhook-secret-file", "webhook-url");
  if (!has_http && !wishes.ca_file.empty()) return lonely("webhook-ca-file", "webhook-url");
  if (wishes.sendmail.empty() && !wishes.mail_to.empty()) return lonely("mail-to", "sendmail");
  if (wishes.sendmail.empty() && !wishes.mail_from.empty()) return lonely("mail-from", "sendmail");
  if (!wishes.sendmail.empty() && wishes.mail_to.empty()) return lonely("sendmail", "mail-to");
  if (!has_http && wishes.sendmail.empty() && !wishes.template_file.empty())
    return lonely("report-template-file", "webhook-url, --chat-url or --sendmail");
  RG_TRY_OK(check_address("mail-to", wishes.mail_to));
  return check_address("mail-from", wishes.mail_from);
}

Result<std::vector<Target>> read_targets(const Wishes& wishes) {
  RG_TRY_OK(check_wishes(wishes));
  Target common{.ca_file = wishes.ca_file};
  if (!wishes.template_file.empty()) {
    common.wording = RG_TRY(read_file("report-template-file", wishes.template_file));
    if (common.wording.empty() || common.wording.size() > kMostTemplateBytes)
      return wrong("report-template-file", wishes.template_file,
                   "a text of at most 64 KiB is needed");
    if (const Status known = check_wording(common.wording); !known)
      return wrong("report-template-file", wishes.template_file, known.error().message);
  }
  if (!wishes.secret_file.empty())
    common.secret = RG_TRY(first_line("webhook-secret-file", wishes.secret_file));
  if (!wishes.ca_file.empty()) RG_TRY(read_file("webhook-ca-file", wishes.ca_file));
  std::vector<Target> targets;
  const auto add_http = [&](const char* name, const std::string& value,
                            const std::string& format) -> Status {
    if (value.empty()) return {};
    Target target = common;
    target.name = name;
    target.format = format_of(format);
    target.url = RG_TRY(read_url(fmt::format("{}-url", name), value));
    target.where = target.url.server;
    targets.push_back(std::move(target));
    return {};
  };
  RG_TRY_OK(add_http("webhook", wishes.webhook_url, wishes.webhook_format));
  RG_TRY_OK(add_http("chat", wishes.chat_url, wishes.chat_format));
  if (wishes.sendmail.empty()) return targets;
  if (!wishes.sendmail.starts_with("/") || ::access(wishes.sendmail.c_str(), X_OK) != 0)
    return wrong("sendmail", wishes.sendmail, "the absolute path of a program is needed");
  targets.push_back({.name = "mail",
                     .where = wishes.sendmail,
                     .format = Format::kMail,
                     .wording = common.wording,
                     .program = wishes.sendmail,
                     .mail = {.to = wishes.mail_to, .from = wishes.mail_from}});
  return targets;
}

}  // namespace railgauge::deliver
