import Control.Concurrent (threadDelay)
import System.Environment (getArgs)
import System.Exit
import System.IO

main :: IO ()
main = do
  putStrLn "ready"
  threadDelay 1000000
  input <- getContents
  mapM_ (putStrLn . ("got " ++)) (lines input)
  arguments <- getArgs
  mapM_ (\argument -> putStrLn ("arg [" ++ argument ++ "]")) arguments
  hPutStrLn stderr "oops"
  exitWith (ExitFailure 3)
