module tstrace/ways

go 1.18
