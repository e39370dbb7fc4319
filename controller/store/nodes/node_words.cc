#include "controller/store/nodes/node_words.h"

#include <fmt/format.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::store {
namespace {

// A pause that holds, with what its event needs.
struct OpenPause {
  std::int64_t id = 0;
  std::string node_id{};
  std::string node{};
  double until = 0;
};

constexpr Columns kOpenColumns{&OpenPause::id, &OpenPause::node_id, &OpenPause::node,
                               &OpenPause::until};

Status end_pause(Connection& connection, const OpenPause& pause, double at,
                 const std::string& who) {
  return connection.execute(
      "UPDATE node_pause SET ended_at=max(since, ?2), ended_by=?3 WHERE id=?1", pause.id, at, who);
}

Status tell(Connection& connection, std::string_view kind, const OpenPause& pause, double at,
            const std::string& text) {
  return insert_event(connection, {.at = at,
                                   .kind = std::string(kind),
                                   .node_id = pause.node_id,
                                   .text = fmt::format("node {} {}", pause.node, text)});
}

// A reinstalled node has another id under its name: a pause of the earlier one is its own.
Result<std::vector<OpenPause>> open_pauses_of(Connection& connection, const std::string& name) {
  return connection.list(kOpenColumns,
                         "SELECT node_pause.id, node_id, name, until FROM node_pause JOIN node ON "
                         "node.id=node_pause.node WHERE ended_at IS NULL AND name=?1",
                         name);
}

}  // namespace

Status write_pauses(Connection& connection, const std::vector<std::string>& nodes,
                    const PauseRow& pause) {
  for (const std::string& name : nodes) {
    OpenPause fresh{.node = name};
    std::int64_t node = 0;
    if (!RG_TRY(connection.row(std::tie(node, fresh.node_id),
                               "SELECT id, node_id FROM node WHERE name=?1 ORDER BY last_seen_at "
                               "DESC, id DESC LIMIT 1",
                               name)))
      return fail(
          Code::kNotFound,
          fmt::format("node {}: pause: no node has this name now; see railgauge nodes", name));
    for (const OpenPause& before : RG_TRY(open_pauses_of(connection, name)))
      RG_TRY_OK(end_pause(connection, before, pause.since, pause.who));
    RG_TRY_OK(connection.execute(
        "INSERT INTO node_pause (node, since, until, who, reason, ended_by) VALUES (?1, ?2, ?3, "
        "?4, ?5, '')",
        node, pause.since, pause.until, pause.who, pause.reason));
    RG_TRY_OK(tell(connection, kPausedKind, fresh, pause.since,
                   fmt::format("is paused until {} by {}: {}", rfc3339(pause.until), pause.who,
                               pause.reason)));
  }
  return {};
}

Status write_pauses_end(Connection& connection, const std::vector<std::string>& nodes,
                        const std::string& who, double at) {
  for (const std::string& name : nodes)
    for (const OpenPause& pause : RG_TRY(open_pauses_of(connection, name))) {
      RG_TRY_OK(end_pause(connection, pause, at, who));
      RG_TRY_OK(tell(connection, kResumedKind, pause, at, "is resumed by " + who));
    }
  return {};
}

Status write_pauses_over(Connection& connection, double now) {
  const std::vector<OpenPause> over = RG_TRY(
      connection.list(kOpenColumns,
                      "SELECT node_pause.id, node_id, name, until FROM node_pause JOIN node ON "
                      "node.id=node_pause.node WHERE ended_at IS NULL AND until<=?1 ORDER BY name",
                      now));
  for (const OpenPause& pause : over) {
    RG_TRY_OK(end_pause(connection, pause, pause.until, ""));
    RG_TRY_OK(tell(connection, kPauseOverKind, pause, now, "is resumed: its pause is over"));
  }
  return {};
}

namespace {

constexpr Columns kPauseColumns{&PauseRow::node,    &PauseRow::since,  &PauseRow::until,
                                &PauseRow::who,     &PauseRow::reason, &PauseRow::ended_at,
                                &PauseRow::ended_by};

}  // namespace

Result<std::vector<PauseRow>> read_open_pauses(Connection& connection) {
  return connection.list(
      kPauseColumns,
      "SELECT name, since, until, who, reason, ended_at, ended_by FROM node_pause JOIN node ON "
      "node.id=node_pause.node WHERE ended_at IS NULL ORDER BY name");
}

Result<std::vector<PauseRow>> read_pauses_since(Connection& connection, double since) {
  return connection.list(
      kPauseColumns,
      "SELECT name, since, until, who, reason, ended_at, ended_by FROM node_pause JOIN node ON "
      "node.id=node_pause.node WHERE ended_at IS NULL OR ended_at>=?1 ORDER BY name, since",
      since);
}

// The agent's labels first: those of the site replace them.
Result<NodeWords> read_node_words(Connection& connection) {
  NodeWords words;
  for (const char* sql :
       {"SELECT name, key, value FROM node_label JOIN node ON node.id=node_label.node WHERE NOT "
        "EXISTS (SELECT 1 FROM node other WHERE other.name=node.name AND (other.last_seen_at, "
        "other.id) > (node.last_seen_at, node.id))",
        "SELECT name, key, value FROM site_label"}) {
    Rows rows = RG_TRY(connection.query(sql));
    while (RG_TRY(rows.next())) words.labels[rows.text(0)][rows.text(1)] = rows.text(2);
  }
  Rows rows = RG_TRY(connection.query("SELECT name, nodes FROM node_group"));
  while (RG_TRY(rows.next())) words.groups[rows.text(0)] = rows.text(1);
  return words;
}

Status write_site_words(Connection& connection, const NodeWords& words) {
  RG_TRY_OK(connection.execute("DELETE FROM site_label"));
  RG_TRY_OK(connection.execute("DELETE FROM node_group"));
  for (const auto& [name, labels] : words.labels)
    for (const auto& [key, value] : labels)
      RG_TRY_OK(connection.execute("INSERT INTO site_label (name, key, value) VALUES (?1, ?2, ?3)",
                                   name, key, value));
  for (const auto& [name, nodes] : words.groups)
    RG_TRY_OK(
        connection.execute("INSERT INTO node_group (name, nodes) VALUES (?1, ?2)", name, nodes));
  return {};
}

}  // namespace railgauge::store
