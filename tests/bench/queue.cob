      *> SPDX-License-Identifier: MIT
      *> A message sent and received, 100,000 times: what a COBOL program that
      *> calls msgsnd does. For tests/bench/real.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. QUEUE.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 QUEUE-ID    BINARY-LONG.
       01 RESULT      BINARY-LONG.
       01 MESSAGE-OUT.
          05 OUT-TYPE BINARY-DOUBLE VALUE 1.
          05 OUT-TEXT PIC X(64) VALUE "ORDER 4711".
       01 MESSAGE-IN.
          05 IN-TYPE  BINARY-DOUBLE.
          05 IN-TEXT  PIC X(64).
       PROCEDURE DIVISION.
           CALL "msgget" USING BY VALUE SIZE 4 0 BY VALUE SIZE 4 384
               RETURNING QUEUE-ID.
           IF QUEUE-ID < 0 THEN
               STOP RUN RETURNING 1
           END-IF.
           PERFORM 100000 TIMES
               CALL "msgsnd" USING BY VALUE QUEUE-ID
                   BY REFERENCE MESSAGE-OUT BY VALUE SIZE 8 64
                   BY VALUE SIZE 4 0 RETURNING RESULT
               END-CALL
               IF RESULT NOT = 0 THEN
                   STOP RUN RETURNING 2
               END-IF
               CALL "msgrcv" USING BY VALUE QUEUE-ID
                   BY REFERENCE MESSAGE-IN BY VALUE SIZE 8 64
                   BY VALUE SIZE 8 1 BY VALUE SIZE 4 0
                   RETURNING RESULT
               END-CALL
               IF RESULT NOT = 64 OR IN-TEXT NOT = OUT-TEXT THEN
                   STOP RUN RETURNING 3
               END-IF
           END-PERFORM.
           CALL "msgctl" USING BY VALUE QUEUE-ID BY VALUE SIZE 4 0
               BY VALUE SIZE 8 0 RETURNING RESULT.
           STOP RUN RETURNING RESULT.
