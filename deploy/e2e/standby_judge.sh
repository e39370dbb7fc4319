# Judges of the drills of two controllers: each says whether a takeover kept what was promised. They need files alone, so that
# deploy/standby_judge_test.sh can show each of them a takeover that did not.
# shellcheck shell=bash

readonly kLongestTakeover=30  # seconds from a kill to the next task, as promised

# takeover_fault SECONDS: prints what is wrong with a takeover after so long; nothing: nothing.
takeover_fault() {
  if [[ ! $1 =~ ^[0-9]+\.?[0-9]*$ ]]; then
    echo "the time to the next task is not known"
  elif awk -v took="$1" -v most="$kLongestTakeover" 'BEGIN { exit !(took > most) }'; then
    echo "next task after $1 s, more than $kLongestTakeover s"
  fi
}

# compare_records KEPT OURS: every record of one database file is in the other, as a point or put aside as an orphan, and no
# measurement is there twice. Prints points of KEPT, those that are missing, those of OURS that repeat a measurement, and those
# that are put aside. A repeat has the same series, time and median under another key: a key itself cannot repeat.
compare_records() {
  local view="run_id, task_id, attempt.attempt, rank.rank, sequence, median"
  sqlite3 "$2" "ATTACH '$1' AS old;
    CREATE TEMP VIEW theirs AS SELECT $view FROM old.point JOIN old.rank ON rank.id=point.rank
      JOIN old.attempt ON attempt.id=rank.attempt JOIN old.task ON task.id=attempt.task JOIN old.run ON run.id=task.run;
    CREATE TEMP VIEW ours AS SELECT $view FROM main.point JOIN main.rank ON rank.id=point.rank
      JOIN main.attempt ON attempt.id=rank.attempt JOIN main.task ON task.id=attempt.task JOIN main.run ON run.id=task.run;
    CREATE TEMP TABLE absent AS SELECT * FROM theirs EXCEPT SELECT * FROM ours;
    CREATE TEMP VIEW aside AS SELECT a.* FROM absent a JOIN main.orphan_record o USING (run_id, task_id, attempt, rank, sequence);
    SELECT (SELECT count(*) FROM theirs), (SELECT count(*) FROM absent) - (SELECT count(*) FROM aside),
      (SELECT coalesce(sum(times - 1), 0) FROM (SELECT count(*) AS times FROM main.point GROUP BY series, measured_at, median)),
      (SELECT count(*) FROM aside)"
}
# compared_well FOUND: of compare_records, or of a look that failed.
compared_well() { [[ $1 =~ ^[1-9][0-9]*\|0\|0\|[0-9]+$ ]]; }

# whole_lines FILE SEEN: the lines of a file that grows which came after the first so many; a line that is being written waits.
whole_lines() {
  local copy
  copy=$(mktemp)
  tail -n +"$(($2 + 1))" "$1" >"$copy"
  if [ -s "$copy" ] && [ -n "$(tail -c 1 "$copy")" ]; then sed -i '$ d' "$copy"; fi
  cat "$copy"
  rm "$copy"
}

# archive_fault SETTING LOOK GENERATION: LOOK is acknowledged|lacking|generation, from one moment of the archive after a kill.
# Prints what is wrong; nothing: nothing. With the setting store the archive may lack records.
archive_fault() {
  local told lacking generation
  IFS='|' read -r told lacking generation <<<"$2"
  if [[ ! $2 =~ ^[0-9]+\|[0-9]+\|[0-9]+$ ]]; then
    echo "the archive could not be looked at: $2"
  elif [ "$generation" != "$3" ]; then
    echo "the look at the archive came after the takeover"
  elif [ "$1" = mirror ] && [ "$told" = 0 ]; then
    echo "nothing was acknowledged before the kill"
  elif [ "$1" = mirror ] && [ "$lacking" != 0 ]; then
    echo "the archive lacks $lacking of $told acknowledged records"
  fi
}

# kills_row COMMIT DATE SETTING LANES NODES LEASE SECONDS <LINES: a row of standby-kills.tsv of lines of kills: time to the next
# task, 1 where something is missing, the comparison, points measured again, the look at the archive, faults. Fails without a line.
kills_row() {
  awk -F '\t' -v OFS='\t' -v commit="$1" -v date="$2" -v setting="$3" -v lanes="$4" -v nodes="$5" -v lease="$6" -v seconds="$7" '
    { split($3, found, "|"); split($5, look, "|"); ++kills; sum += $1; if ($1 + 0 > longest + 0) longest = $1; points += found[1]; lost += found[2]
      twice += found[3]; aside += found[4]; again += $4; told += look[1]; lacking += look[2]; if ($2 > 0 || $6 != "") ++faults }
    END { if (kills == 0) exit 1
      print commit, date, kills, lanes, nodes, lease, seconds, sprintf("%.1f", sum / kills), longest, points, lost + 0, twice + 0, aside + 0, again + 0,
        faults + 0, setting, told + 0, lacking + 0 }'
}

# kept_kills COMMIT <TABLE: kills of that commit in rows of standby-kills.tsv in which nothing is missing, twice or at fault.
kept_kills() {
  awk -F '\t' -v commit="$1" '$1 == commit && $11 == 0 && $12 == 0 && $15 == 0 { kills += $3 } END { print kills + 0 }'
}
