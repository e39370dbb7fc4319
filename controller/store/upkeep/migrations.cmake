# write_migrations(HEADER): writes the numbered migrations, in the order of their numbers, as texts of a header that is
# part of the program. A changed migration configures the tree anew.
function(write_migrations header)
  set(folder ${PROJECT_SOURCE_DIR}/controller/store)
  file(GLOB migrations CONFIGURE_DEPENDS ${folder}/migrations/*.sql)
  list(SORT migrations)
  set(RAILGAUGE_MIGRATIONS "")
  foreach(migration ${migrations})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${migration})
    file(READ ${migration} text)
    string(APPEND RAILGAUGE_MIGRATIONS "R\"sql(${text})sql\",\n")
  endforeach()
  configure_file(${folder}/upkeep/migrations.h.in ${header} @ONLY)
endfunction()
