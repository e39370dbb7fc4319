#include "controller/deliver/message.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/report/page.h"
#include "controller/trust/digest.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::deliver {
namespace {

// The receivers' own limits are 40,000 characters and 28 KB.
constexpr std::size_t kSlackBytes = 30'000;
constexpr std::size_t kTeamsBytes = 12'000;
constexpr std::size_t kTeamsLines = 120;
constexpr std::size_t kSubjectBytes = 140;

std::string json_of(const api::SiteReport& report) { return to_json(report, JsonLayout::kCompact); }

std::string digest_of(std::string_view text) { return "sha256:" + trust::sha256_hex(text); }

report::Page page_of(const Dispatch& dispatch) {
  report::Page page = report::page_of(dispatch.report);
  if (dispatch.cause == "finding")
    page.title = fmt::format("{}: {} confirmed", page.title, fmt::join(dispatch.confirmed, ", "));
  return page;
}

// The values of a template's names.
struct Name {
  std::string_view name{};
  std::string (*value)(const Dispatch&) = nullptr;
};
constexpr std::array kNames{
    Name{"cause", [](const Dispatch& one) { return one.cause; }},
    Name{"confirmed",
         [](const Dispatch& one) { return fmt::format("{}", fmt::join(one.confirmed, ", ")); }},
    Name{"delivery_id", [](const Dispatch& one) { return one.delivery_id; }},
    Name{"headline", [](const Dispatch& one) { return one.report.headline(); }},
    Name{"markdown", [](const Dispatch& one) { return report::page_markdown(page_of(one)); }},
    Name{"next",
         [](const Dispatch& one) { return fmt::format("{}", fmt::join(one.report.next(), "\n")); }},
    Name{"report_id", [](const Dispatch& one) { return one.report.report_id(); }},
    Name{"text", [](const Dispatch& one) { return report::page_text(page_of(one)); }},
    Name{"verdict", [](const Dispatch& one) { return one.report.verdict(); }},
};

// Calls `take` with each piece of the wording: text, or a name without its braces.
template <class Take>
void for_each_piece(std::string_view wording, Take take) {
  while (!wording.empty()) {
    const std::size_t open = wording.find("{{");
    take(wording.substr(0, open), false);
    if (open == std::string_view::npos) return;
    wording.remove_prefix(open + 2);
    const std::size_t close = wording.find("}}");
    take(wording.substr(0, close), true);
    if (close == std::string_view::npos) return;
    wording.remove_prefix(close + 2);
  }
}

std::string worded(const Dispatch& dispatch, std::string_view wording) {
  std::string text;
  for_each_piece(wording, [&](std::string_view piece, bool is_name) {
    const Name* name = is_name ? row_where(kNames, &Name::name, piece) : nullptr;
    text += name == nullptr ? std::string(piece) : name->value(dispatch);
  });
  // The names that carry the mark by themselves may all be missing.
  const bool lacks_mark = dispatch.report.synthetic() && text.find("SYNTHETIC") == text.npos;
  return (lacks_mark ? "SYNTHETIC: " : "") + text;
}

std::string within(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  return std::string(beginning_of(text, bytes)) + "\n(cut here; railgauge report has the rest)\n";
}

// Slack obeys these three in any text.
std::string slack_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string slack_body(const Dispatch& dispatch, const std::string& wording) {
  const std::string text =
      wording.empty()
          ? fmt::format("*{}*\n```\n{}```", slack_escaped(dispatch.report.headline()),
                        slack_escaped(within(report::page_text(page_of(dispatch)), kSlackBytes)))
          : slack_escaped(within(worded(dispatch, wording), kSlackBytes));
  return fmt::format(R"({{"text":{}}})", json_string(text));
}

// One line of a card: Teams shows a block's text as Markdown, without headings.
std::string teams_block(std::string_view line) {
  std::string_view look = R"("spacing":"Small")";
  if (line.starts_with("# ")) look = R"("size":"Large","weight":"Bolder")";
  if (line.starts_with("## ")) look = R"("size":"Medium","weight":"Bolder")";
  const std::size_t marks = line.find_first_not_of('#');
  if (line.starts_with("#") && marks != std::string_view::npos) line.remove_prefix(marks + 1);
  return fmt::format(R"({{"type":"TextBlock","wrap":true,{},"text":{}}})", look, json_string(line));
}

std::string teams_body(const Dispatch& dispatch, const std::string& wording) {
  const std::string text =
      within(wording.empty() ? report::page_markdown(page_of(dispatch)) : worded(dispatch, wording),
             kTeamsBytes);
  std::vector<std::string> blocks;
  for (const std::string_view line : split(text, '\n'))
    if (line.find_first_not_of(' ') != std::string_view::npos && blocks.size() < kTeamsLines)
      blocks.push_back(teams_block(line));
  return fmt::format(
      R"({{"type":"message","attachments":[{{"contentType":)"
      R"("application/vnd.microsoft.card.adaptive","content":{{"type":"AdaptiveCard",)"
      R"("$schema":"http://adaptivecards.io/schemas/adaptive-card.json","version":"1.4",)"
      R"("body":[{}]}}}}]}})",
      fmt::join(blocks, ","));
}

// `report` is last, so that a receiver can check the digest over the bytes that it got.
std::string json_body(const Dispatch& dispatch, const std::string& wording) {
  std::vector<std::string> confirmed;
  for (const std::string& id : dispatch.confirmed) confirmed.push_back(json_string(id));
  const std::string report = json_of(dispatch.report);
  const std::string text =
      wording.empty() ? report::page_markdown(page_of(dispatch)) : worded(dispatch, wording);
  return fmt::format(
      R"({{"schema_version":{},"delivery_id":{},"report_id":{},"digest":{},"cause":{},)"
      R"("confirmed":[{}],"text":{},"report":{}}})",
      dispatch.report.schema_version(), json_string(dispatch.delivery_id),
      json_string(dispatch.report.report_id()), json_string(digest_of(report)),
      json_string(dispatch.cause), fmt::join(confirmed, ","), json_string(text), report);
}

// A header takes visible ASCII only.
std::string header_text(std::string_view text, std::size_t bytes) {
  std::string out;
  for (const char c : text) out += c >= ' ' && c < '\x7f' ? c : '?';
  return out.substr(0, bytes);
}

std::string message_id_of(const Dispatch& dispatch, const MailHead& mail) {
  std::string id;
  for (const char c : dispatch.delivery_id) id += made_of(std::string_view(&c, 1), "-._") ? c : '.';
  const std::size_t at = mail.from.rfind('@');
  std::string domain = at == std::string::npos ? "railgauge" : mail.from.substr(at + 1);
  std::erase_if(domain, [](char c) { return c == '>' || c == ' '; });
  return fmt::format("<{}@{}>", id, domain);
}

// RFC 5322, with lines that end as the mail programs of Unix expect.
std::string mail_body(const Dispatch& dispatch, const std::string& wording, const MailHead& mail) {
  const std::chrono::sys_seconds at{std::chrono::seconds(std::llround(mail.at))};
  std::string head;
  if (!mail.from.empty()) head += fmt::format("From: {}\n", mail.from);
  head += fmt::format("To: {}\n", mail.to);
  head += fmt::format(
      "Subject: [Railgauge] {}\n",
      header_text(fmt::format("{}: {}", dispatch.report.verdict(), dispatch.report.headline()),
                  kSubjectBytes));
  head += fmt::format("Date: {:%a, %d %b %Y %H:%M:%S} +0000\n",
                      fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
  head += fmt::format("Message-ID: {}\n", message_id_of(dispatch, mail));
  head +=
      "Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; "
      "charset=utf-8\nContent-Transfer-Encoding: 8bit\n";
  head += fmt::format("X-Railgauge-Delivery: {}\n", header_text(dispatch.delivery_id, 200));
  head += fmt::format("X-Railgauge-Digest: {}\n\n", digest_of(json_of(dispatch.report)));
  return head +
         (wording.empty() ? report::page_text(page_of(dispatch)) : worded(dispatch, wording));
}

}  // namespace

Format format_of(std::string_view name) {
  const auto* const found = std::ranges::find(kFormatNames, name);
  return found == std::end(kFormatNames) ? Format::kJson
                                         : static_cast<Format>(found - std::begin(kFormatNames));
}

std::string subject_of_delivery(const std::string& delivery_id) {
  constexpr std::string_view kRun = "run-";
  if (!delivery_id.starts_with(kRun)) return "";
  return fmt::format("run {}: ", delivery_id.substr(kRun.size()));
}

std::string body_of(const Dispatch& dispatch, Format format, const std::string& wording,
                    const MailHead& mail) {
  switch (format) {
    case Format::kSlack:
      return slack_body(dispatch, wording);
    case Format::kTeams:
      return teams_body(dispatch, wording);
    case Format::kMail:
      return mail_body(dispatch, wording, mail);
    case Format::kJson:
      break;
  }
  return json_body(dispatch, wording);
}

Status check_wording(const std::string& wording) {
  std::vector<std::string> known;
  for (const Name& name : kNames) known.emplace_back(name.name);
  Status status;
  for_each_piece(wording, [&](std::string_view piece, bool is_name) {
    if (!status || !is_name || std::ranges::find(known, piece) != known.end()) return;
    status = fail(Code::kInvalidArgument,
                  fmt::format("{{{{{}}}}}: no message has it; {} are known{}", printable(piece),
                              fmt::join(known, ", "), did_you_mean(piece, known)));
  });
  return status;
}

std::vector<std::pair<std::string, std::string>> headers_of(const std::string& delivery_id,
                                                            const std::string& body,
                                                            const std::string& secret,
                                                            double unix_seconds) {
  const std::string timestamp = fmt::format("{:.0f}", unix_seconds);
  std::vector<std::pair<std::string, std::string>> headers{
      {"X-Railgauge-Delivery", header_text(delivery_id, 200)},
      {"X-Railgauge-Digest", digest_of(body)},
      {"X-Railgauge-Timestamp", timestamp}};
  if (!secret.empty())
    headers.emplace_back("X-Railgauge-Signature",
                         "sha256=" + trust::hmac_sha256_hex(secret, timestamp + "." + body));
  return headers;
}

}  // namespace railgauge::deliver
