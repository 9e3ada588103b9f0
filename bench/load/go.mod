module load

go 1.26
